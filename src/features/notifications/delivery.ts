import { type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { anyOf, idList } from '../../db/columns.ts'
import { isPaused, ruleFor } from '../users/notification-rules.ts'
import { users } from '../users/table.ts'

/** How a notification reaches its reader, besides push and integrations. */
interface Delivery {
  inbox: boolean
  /** The pending mail. */
  mail: 'now' | 'daily' | null
}

/**
 * Adds to each notification what its reader has chosen for its reason, and enqueues the mails to send at once. Leaves
 * out those for users who no longer exist.
 */
export async function withDelivery<N extends { userId: string; reason: string }>(
  ctx: Ctx,
  notices: readonly N[],
): Promise<(N & Delivery)[]> {
  const rows = await ctx.db
    .select({ id: users.id, preferences: users.preferences })
    .from(users)
    .where(anyOf(users.id, idList([...new Set(notices.map(({ userId }) => userId))])))
  const chosen = new Map(rows.map(({ id, preferences }) => [id, preferences.notifications]))
  const existing = notices.filter(({ userId }) => chosen.has(userId))
  const delivered = existing.map((notice) => {
    const { inbox, mail } = ruleFor(chosen.get(notice.userId), notice.reason)
    // Without a mail server, pending mails would only pile up.
    return { ...notice, inbox, mail: mail === 'off' || !ctx.app.config.SMTP_URL ? null : mail }
  })
  enqueueUserMails(
    ctx,
    delivered.flatMap(({ userId, mail }) => (mail === 'now' && !isPaused(chosen.get(userId), ctx.now) ? [userId] : [])),
  )
  return delivered
}

/** Enqueues one job for each of these people, which collects everything that is due into one mail. */
export function enqueueUserMails(ctx: Ctx, userIds: readonly string[]): void {
  for (const userId of new Set(userIds)) ctx.enqueue({ name: 'notifications.mailUser', key: userId, data: { userId } })
}

/** What `ruleFor` and `isPaused` return for announcements, as SQL over the table of users. */
const chosen = (path: string) => sql`${users.preferences} #>> ${`{notifications,${path}}`}::text[]`
export const announcementRule = {
  inbox: sql<boolean>`coalesce((${chosen('rules,admin,inbox')})::boolean, true)`,
  isMailed: sql`coalesce((${chosen('email')})::boolean, true)`,
  isDaily: sql`coalesce(${chosen('rules,admin,mail')} = 'daily', false)`,
  isPausedAt: (moment: string): SQL =>
    sql`coalesce((${chosen('pausedUntil')})::timestamptz > ${moment}::timestamptz, false)`,
}
