import { eq, gt, isNotNull, sql } from 'drizzle-orm'
import { type Ctx, write } from '../../action.ts'
import { machine } from '../../auth/policy.ts'
import { and } from '../../db/conditions.ts'
import { queueMails } from '../mail/service.ts'
import { users } from '../users/table.ts'
import { announcementRule } from './delivery.ts'
import { announcements, notifications } from './table.ts'

/**
 * Announcements as mail. A job queues the mails of one batch and then enqueues itself for the next batch, so that a
 * sign-in code never waits behind more than one batch.
 */
const BATCH = 100
const PAUSE_SECONDS = 10
/** A mail that could not be sent within this time is not sent any more. */
const DAYS = 3

type Row = typeof announcements.$inferSelect

export type MailBatch = {
  id: string
  /** The last user of the batch before. */
  after?: string
}

/** Enqueues the first batch, if there is a mail server: otherwise the mails would fill the outbox. */
export function enqueueMails(ctx: Ctx, id: string): void {
  if (ctx.app.config.SMTP_URL) ctx.enqueue(jobOf({ id }))
}

const jobOf = (batch: MailBatch) => ({ name: 'notifications.mail', key: batch.id, data: { ...batch } })

/** SQL conditions: the user was notified, is active, has confirmed the address and wants mail at once. */
const wantsMail = ({ id, createdAt }: Row) =>
  and(
    eq(users.status, 'active'),
    isNotNull(users.emailVerifiedAt),
    announcementRule.isMailed,
    sql`not ${announcementRule.isDaily} and not ${announcementRule.isPausedAt(createdAt)}`,
    sql`exists (select 1 from ${notifications} where ${notifications.userId} = ${users.id}
      and ${notifications.createdAt} = ${createdAt}::timestamptz and ${notifications.announcementId} = ${id})`,
  )

/** Always the same for a user, so that a repeated job does not send a mail twice. */
const mailIdOf = (announcementId: string, userId: string): string => Bun.randomUUIDv5(userId, announcementId)

export const mailBatch = write(
  'notifications.mailBatch',
  machine,
  async (ctx, { id, after }: MailBatch): Promise<void> => {
    const [row] = await ctx.db.select().from(announcements).where(eq(announcements.id, id))
    const expiresAt = row && new Date(Date.parse(row.createdAt) + DAYS * 86_400_000).toISOString()
    if (!row || !expiresAt || expiresAt <= ctx.now) return
    const recipients = await ctx.db
      .select({ id: users.id, email: users.email })
      .from(users)
      .where(and(wantsMail(row), after === undefined ? undefined : gt(users.id, after)))
      .orderBy(users.id)
      .limit(BATCH)
    await queueMails(
      ctx,
      { ...contentOf(ctx, row), expiresAt },
      recipients.map((user) => ({ id: mailIdOf(id, user.id), to: user.email })),
    )
    const last = recipients.at(-1)
    if (!last || recipients.length < BATCH) return
    const runAt = new Date(Date.parse(ctx.now) + PAUSE_SECONDS * 1000).toISOString()
    ctx.enqueue({ ...jobOf({ id, after: last.id }), runAt })
  },
  { bookkeeping: true },
)

function contentOf({ app }: Ctx, { title, message, link }: Row) {
  const url = link && URL.parse(link, app.url)?.href
  return {
    kind: 'announcement',
    subject: title,
    lines: [title, ...(message ?? '').split(/\n+/).filter(Boolean)],
    ...(url && { button: { label: 'Open', url } }),
    notes: [
      `You receive this mail because you have an account at ${app.url}. ` +
        `To turn off such mails, open ${app.url}/settings/notifications`,
    ],
  }
}
