import { eq, inArray, isNotNull, isNull, sql } from 'drizzle-orm'
import { type Ctx, contextOf, flow, read, write } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { machine } from '../../auth/policy.ts'
import { anyOf, idList } from '../../db/columns.ts'
import { and } from '../../db/conditions.ts'
import { AppError } from '../../errors.ts'
import { queueMails } from '../mail/service.ts'
import { dailyTimeOf, isPaused, zoneOf } from '../users/notification-rules.ts'
import { users } from '../users/table.ts'
import { lastDailyTime } from './daily-time.ts'
import { enqueueUserMails } from './delivery.ts'
import { contentOf, type MailedNotification } from './mail-content.ts'
import { isReadableNotification, readerRule } from './service.ts'
import { notifications } from './table.ts'

/**
 * Mails about notifications. `notifications.mail` says that one is pending. A job for each person collects what is due
 * into one mail: a notification that wants a mail at once, and those from before the last time of the daily mail.
 */

/** Older notifications are not mailed any more, for example those from before a server could send mail. */
const MOST_DAYS = 7
/** A mail that could not be sent within this time is not sent any more. */
const MAIL_DAYS = 3

const daysFrom = (now: string, days: number): string => new Date(Date.parse(now) + days * 86_400_000).toISOString()

/** SQL condition: the user can receive mail. An unconfirmed address may belong to a stranger. */
const isReachable = and(eq(users.status, 'active'), isNotNull(users.emailVerifiedAt))

/** Returns until when daily notifications are due for this person; undefined while they have paused their mail. */
function dueBefore(now: string, user: Pick<typeof users.$inferSelect, 'preferences' | 'timezone'>): string | undefined {
  const { notifications: chosen } = user.preferences
  return isPaused(chosen, now) ? undefined : lastDailyTime(now, dailyTimeOf(chosen), zoneOf(user))
}

/** SQL condition: `mailUser` sends it. The first part lets an index serve it. */
const isPending = and(isNotNull(notifications.mail), inArray(notifications.mail, ['now', 'daily']))

const findDueUsers = read('notifications.findDueUsers', machine, async (ctx, _: Record<string, never>) => {
  const rows = await ctx.db
    .select({
      id: users.id,
      preferences: users.preferences,
      timezone: users.timezone,
      now: sql<boolean>`bool_or(${notifications.mail} = 'now')`,
      oldest: sql<string>`min(${notifications.createdAt})`.mapWith(notifications.createdAt),
    })
    .from(notifications)
    .innerJoin(users, and(eq(users.id, notifications.userId), isReachable))
    .where(isPending)
    .groupBy(users.id)
  return rows.flatMap(({ id, now, oldest, ...user }) => {
    const before = dueBefore(ctx.now, user)
    return before !== undefined && (now || oldest < before) ? [id] : []
  })
})

const enqueueFor = write(
  'notifications.enqueueMails',
  machine,
  async (ctx, userIds: string[]): Promise<void> => enqueueUserMails(ctx, userIds),
  { bookkeeping: true },
)

/** Enqueues a job for everyone whose daily mail is due, or whose pause has ended. */
export const enqueueDueMails = flow(
  'notifications.enqueueDueMails',
  machine,
  async (ctx, _: Record<string, never>): Promise<void> => {
    const due = await findDueUsers(ctx, {})
    if (due.length > 0) await enqueueFor(ctx, due)
  },
)

interface DueMail {
  to: string
  /** All pending notifications that are due, also those that the mail will not list. */
  ids: string[]
  daily: boolean
}

const findDueMail = read(
  'notifications.findDueMail',
  machine,
  async (ctx, userId: string): Promise<DueMail | undefined> => {
    const [user] = await ctx.db
      .select()
      .from(users)
      .where(and(eq(users.id, userId), isReachable))
    const before = user && dueBefore(ctx.now, user)
    if (!user || before === undefined) return
    const rows = await ctx.db
      .select({ id: notifications.id, mail: notifications.mail })
      .from(notifications)
      .where(
        and(
          eq(notifications.userId, userId),
          isPending,
          sql`(${notifications.mail} = 'now' or ${notifications.createdAt} < ${before}::timestamptz)`,
        ),
      )
    return rows.length === 0
      ? undefined
      : { to: user.email, ids: rows.map(({ id }) => id), daily: rows.some(({ mail }) => mail === 'daily') }
  },
)

const isUnread = and(isNull(notifications.readAt), isNull(notifications.doneAt))

/** Returns those of these that the reader has not read, and whose record they still see. */
const listUnread = read(
  'notifications.listUnread',
  machine,
  async (ctx, { ids, reader }: { ids: string[]; reader: Ctx }): Promise<MailedNotification[]> => {
    const { id, title, message, link, recordKind, recordId } = notifications
    return ctx.db
      .select({ id, title, message, link, recordKind, recordId })
      .from(notifications)
      .where(
        and(
          anyOf(id, idList(ids)),
          isReadableNotification(reader),
          isUnread,
          sql`${notifications.createdAt} > ${daysFrom(ctx.now, -MOST_DAYS)}::timestamptz`,
        ),
      )
      .orderBy(notifications.createdAt, id)
  },
)

interface UserMail extends DueMail {
  items: MailedNotification[]
}

/** Of several runs for the same notifications, the first one queues the mail. */
const storeUserMail = write(
  'notifications.storeUserMail',
  machine,
  async (ctx, { to, ids, items, daily }: UserMail): Promise<void> => {
    const taken = await ctx.db
      .update(notifications)
      .set({ mail: null })
      .where(and(anyOf(notifications.id, idList(ids)), isPending))
      .returning({ id: notifications.id })
    const own = new Set(taken.map(({ id }) => id))
    const mailed = items.filter(({ id }) => own.has(id))
    const [first] = mailed
    if (!first) return
    const content = { ...(await contentOf(ctx, mailed, daily)), expiresAt: daysFrom(ctx.now, MAIL_DAYS) }
    // Always the same for the same notifications, so that a repeated job does not send a mail twice.
    await queueMails(ctx, content, [{ id: Bun.randomUUIDv5(to, first.id), to }])
  },
  { bookkeeping: true },
)

/** Queues one mail with everything that is due for this person. */
export const mailUser = flow(
  'notifications.mailUser',
  machine,
  async (ctx, { userId }: { userId: string }): Promise<void> => {
    const due = await findDueMail(ctx, userId)
    if (!due) return
    // With the current rights of the reader: a record may have been moved out of their sight meanwhile.
    const reader = contextOf(ctx.app, await ctx.app.auth.actorFor(userId))
    await storeUserMail(ctx, { ...due, items: await listUnread(ctx, { ids: due.ids, reader }) })
  },
)

/** Sends the pending daily mail of the caller now. */
export const mailNow = write(
  'notifications.mailNow',
  readerRule,
  async (ctx, _: Record<string, never>): Promise<{ unread: number }> => {
    const userId = userIdOf(ctx.actor)
    const [user] = await ctx.db.select().from(users).where(eq(users.id, userId))
    if (!ctx.app.config.SMTP_URL) throw new AppError('conflict', 'This server sends no mail.')
    if (!user?.emailVerifiedAt) throw new AppError('conflict', 'Confirm your e-mail address first.')
    if (isPaused(user.preferences.notifications, ctx.now))
      throw new AppError('conflict', 'Your notifications are paused. Resume them first.')
    const { count: unread } = await ctx.db
      .update(notifications)
      .set({ mail: 'now' })
      .where(and(isReadableNotification(ctx), isUnread, eq(notifications.mail, 'daily')))
    if (unread > 0) enqueueUserMails(ctx, [userId])
    return { unread }
  },
)
