import { eq, gt, isNotNull, isNull, sql } from 'drizzle-orm'
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
  /** The notifications say whose mail is pending. Jobs of earlier versions do not have it. */
  marked?: boolean
}

/** Enqueues the first batch, if there is a mail server: otherwise the mails would fill the outbox. */
export function enqueueMails(ctx: Ctx, id: string): void {
  if (ctx.app.config.SMTP_URL) ctx.enqueue(jobOf({ id }))
}

const jobOf = ({ id, after }: MailBatch) => ({
  name: 'notifications.mail',
  key: id,
  data: { id, marked: true, ...(after !== undefined && { after }) },
})

/** SQL condition: the notifications of the announcement. An index serves the time. */
const isOf = ({ id, createdAt }: Row) =>
  and(eq(notifications.createdAt, createdAt), eq(notifications.announcementId, id))

/** Always the same for a user, so that a repeated job does not send a mail twice. */
const mailIdOf = (announcementId: string, userId: string): string => Bun.randomUUIDv5(userId, announcementId)

export const mailBatch = write(
  'notifications.mailBatch',
  machine,
  async (ctx, { id, after, marked = false }: MailBatch): Promise<void> => {
    const [row] = await ctx.db.select().from(announcements).where(eq(announcements.id, id))
    const expiresAt = row && new Date(Date.parse(row.createdAt) + DAYS * 86_400_000).toISOString()
    if (!row || !expiresAt) return
    if (!marked) await markUnmailed(ctx, row, after)
    const batch = expiresAt <= ctx.now ? [] : await takeBatch(ctx, row, after)
    await queueMails(
      ctx,
      { ...contentOf(ctx, row), expiresAt },
      batch.flatMap((user) => (user.isDue ? { id: mailIdOf(id, user.id), to: user.email } : [])),
    )
    const last = batch.at(-1)
    if (!last || batch.length < BATCH) return
    const runAt = new Date(Date.parse(ctx.now) + PAUSE_SECONDS * 1000).toISOString()
    ctx.enqueue({ ...jobOf({ id, after: last.id }), runAt })
  },
  { bookkeeping: true },
)

/**
 * Takes the next pending mails, so that each is sent once, whatever its reader changes meanwhile. A reader who has
 * paused the notifications or chosen the daily mail since gets it then.
 */
async function takeBatch(ctx: Ctx, row: Row, after: string | undefined) {
  const { isMailed, isDaily, isPausedAt } = announcementRule
  const wants = and(eq(users.status, 'active'), isNotNull(users.emailVerifiedAt), isMailed)
  const { rows } = await ctx.db.execute<{ id: string; email: string; due: boolean }>(sql`
    with batch as (
      select ${notifications.id} as notification, ${users.id} as id, ${users.email} as email, case
        when not (${wants}) then null when ${isDaily} then 'daily' when ${isPausedAt(ctx.now)} then 'now'
        else 'due' end as mail
      from ${users} join ${notifications} on ${notifications.userId} = ${users.id}
      where ${isOf(row)} and ${notifications.mail} = 'announcement' and ${after ? gt(users.id, after) : sql`true`}
      order by ${users.id} limit ${BATCH} for update of ${notifications}),
    taken as (
      update ${notifications} set mail = nullif(batch.mail, 'due') from batch
      where ${notifications.id} = batch.notification)
    select id, email, coalesce(mail = 'due', false) as due from batch order by id`)
  return rows.map(({ id, email, due }) => ({ id, email, isDue: due }))
}

/** An earlier version left the mails to the job, which decided by the choices at the time of the mail. */
const markUnmailed = (ctx: Ctx, row: Row, after: string | undefined) =>
  ctx.db
    .update(notifications)
    .set({ mail: 'announcement' })
    .where(and(isOf(row), isNull(notifications.mail), after ? gt(notifications.userId, after) : undefined))

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
