import { and, eq, gt, type SQL, sql } from 'drizzle-orm'
import { type Ctx, flow, read, write } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { admin, machine } from '../../auth/policy.ts'
import { anyOf, idList } from '../../db/columns.ts'
import { AppError, invalid, notFound } from '../../errors.ts'
import { keyset } from '../../records/page.ts'
import { memberships, organizations } from '../organizations/table.ts'
import { users } from '../users/table.ts'
import { enqueueMails } from './announcement-mail.ts'
import { announcementRule } from './delivery.ts'
import { announcementSent } from './events.ts'
import { onNotified } from './hooks.ts'
import type { Announcement, AnnouncementPage, AnnouncementQuery, Audience, NotificationSend } from './schema.ts'
import { emitNotification, notify } from './service.ts'
import { announcements, notifications } from './table.ts'

/** Users per transaction. On the embedded database all other requests wait for it. */
const BATCH = 5000

type Row = typeof announcements.$inferSelect

const visible = {
  id: announcements.id,
  createdAt: announcements.createdAt,
  sentBy: { id: users.id, name: users.name },
  type: announcements.type,
  title: announcements.title,
  message: announcements.message,
  link: announcements.link,
  audience: announcements.audience,
  recipients: announcements.recipients,
}

const selectAnnouncements = (ctx: Ctx) =>
  ctx.db.select(visible).from(announcements).leftJoin(users, eq(users.id, announcements.sentById)).$dynamic()

export const list = read(
  'notifications.sent',
  admin,
  async (ctx, query: AnnouncementQuery): Promise<AnnouncementPage> => {
    const page = keyset({ createdAt: announcements.createdAt }, announcements.id, query, { sort: 'createdAt' })
    const rows = await selectAnnouncements(ctx)
      .where(page.where())
      .orderBy(...page.orderBy)
      .limit(page.limit)
    return page.page(rows, query.total ? await ctx.db.$count(announcements) : undefined)
  },
)

/** Notifies the first batch of users at once; a job notifies the rest. Then another job mails those who want mail. */
export const send = write('notifications.send', admin, async (ctx, input: NotificationSend): Promise<Announcement> => {
  const audience = input.audience ?? {}
  await checkAudience(ctx, audience)
  const [row] = await ctx.db
    .insert(announcements)
    .values({
      createdAt: ctx.now,
      sentById: ctx.actor.userId,
      type: input.type ?? 'info',
      title: input.title.trim(),
      message: input.message,
      link: input.link,
      audience,
      recipients: 0,
    })
    .returning()
  if (!row) throw new Error('insert returned nothing')
  if (await deliverBatch(ctx, row)) ctx.enqueue({ name: 'notifications.deliver', data: { id: row.id } })
  const [sent] = await selectAnnouncements(ctx).where(eq(announcements.id, row.id))
  if (!sent?.recipients)
    throw new AppError('not_found', 'None of these users exist. Check the ids in audience.userIds.')
  // One event for all recipients: clients then fetch what is new. Only users named by id get an event each.
  const data = {
    title: row.title,
    type: row.type,
    to: audience.userIds ? 'users' : audience.organizationId ? 'team' : 'everybody',
  }
  ctx.emit(announcementSent, { subjectId: row.id, organizationId: audience.organizationId, data })
  return sent
})

async function checkAudience(ctx: Ctx, { userIds, organizationId }: Audience): Promise<void> {
  if (userIds && organizationId) throw invalid('/audience', 'Send either userIds or organizationId, not both.')
  if (!organizationId) return
  const [found] = await ctx.db
    .select({ deletedAt: organizations.deletedAt })
    .from(organizations)
    .where(eq(organizations.id, organizationId))
  if (!found || found.deletedAt) throw notFound('organization', organizationId)
}

/**
 * Notifies the next batch of users, ordered by id, in the caller's transaction. Returns whether there may be more.
 */
async function deliverBatch(ctx: Ctx, { id, createdAt, audience, ...content }: Row, after?: string): Promise<boolean> {
  const made = await ctx.db
    .insert(notifications)
    .select((query) =>
      query
        .select({
          id: idAt(createdAt).as('id'),
          createdAt: sql<string>`${createdAt}::timestamptz`.as('created_at'),
          updatedAt: sql<string>`${createdAt}::timestamptz`.as('updated_at'),
          version: sql<number>`1`.as('version'),
          userId: users.id,
          type: sql<Row['type']>`${content.type}::text`.as('type'),
          reason: sql<string>`'admin'`.as('reason'),
          title: sql<string>`${content.title}::text`.as('title'),
          message: sql<string | null>`${content.message}::text`.as('message'),
          link: sql<string | null>`${content.link}::text`.as('link'),
          recordKind: sql<null>`null::text`.as('record_kind'),
          recordId: sql<null>`null::uuid`.as('record_id'),
          readAt: sql<string | null>`null::timestamptz`.as('read_at'),
          doneAt: sql<string | null>`null::timestamptz`.as('done_at'),
          snoozedUntil: sql<string | null>`null::timestamptz`.as('snoozed_until'),
          fromType: sql<null>`null::text`.as('from_type'),
          fromId: sql<null>`null::uuid`.as('from_id'),
          announcementId: sql<string>`${id}::uuid`.as('announcement_id'),
          inbox: announcementRule.inbox.as('inbox'),
          mail: pendingMail(ctx, createdAt).as('mail'),
        })
        .from(users)
        .where(and(isRecipient(audience), after === undefined ? undefined : gt(users.id, after)))
        .orderBy(users.id)
        .limit(BATCH),
    )
    .returning({ id: notifications.id, userId: notifications.userId, inbox: notifications.inbox })
  await ctx.db
    .update(announcements)
    .set({ recipients: sql`${announcements.recipients} + ${made.length}` })
    .where(eq(announcements.id, id))
  if (audience.userIds)
    for (const one of made)
      if (one.inbox) emitNotification(ctx, { ...one, type: content.type, title: content.title, reason: 'admin' })
  await onNotified.call(
    ctx,
    made.map((one) => ({ ...one, type: content.type, reason: 'admin' })),
  )
  const hasMore = made.length === BATCH
  if (!hasMore) enqueueMails(ctx, id)
  return hasMore
}

/** SQL for the pending mail: with the daily mail, after a pause, or by `announcement-mail.ts`. */
const pendingMail = ({ app }: Ctx, moment: string) => {
  const { isMailed, isDaily, isPausedAt } = announcementRule
  return sql<
    'now' | 'daily' | 'announcement' | null
  >`case when not (${isMailed} and ${app.config.SMTP_URL !== undefined}::boolean) then null
    when ${isDaily} then 'daily' when ${isPausedAt(moment)} then 'now' else 'announcement' end`
}

/** SQL condition: the user gets the announcement. */
const isRecipient = ({ userIds, organizationId }: Audience): SQL | undefined =>
  and(
    // Users named by id get it even if they are suspended.
    userIds ? anyOf(users.id, idList(userIds)) : eq(users.status, 'active'),
    organizationId === undefined
      ? undefined
      : sql`exists (select 1 from ${memberships}
          where ${memberships.userId} = ${users.id} and ${memberships.organizationId} = ${organizationId})`,
  )

/** SQL for a UUIDv7 of that moment, a new one for each row. Postgres has a function for it only since version 18. */
const idAt = (moment: string) => {
  const time = Date.parse(moment).toString(16).padStart(12, '0')
  return sql<string>`(${`${time}7`} || substr(replace(gen_random_uuid()::text, '-', ''), 14))::uuid`
}

/** Continues after the last notified user, so that a repeated or interrupted job neither skips nor repeats one. */
const deliverNext = write(
  'notifications.deliverSome',
  machine,
  async (ctx, { id }: { id: string }): Promise<boolean> => {
    const [row] = await ctx.db.select().from(announcements).where(eq(announcements.id, id)).for('update')
    if (!row) return false
    const [last] = await ctx.db
      .select({ userId: sql<string | null>`max(${notifications.userId}::text)` })
      .from(notifications)
      .where(and(eq(notifications.createdAt, row.createdAt), eq(notifications.announcementId, id)))
    return deliverBatch(ctx, row, last?.userId ?? undefined)
  },
  { bookkeeping: true },
)

export const deliverRest = flow(
  'notifications.deliver',
  machine,
  async (ctx, { id }: { id: string }): Promise<void> => {
    while (await deliverNext(ctx, { id }));
  },
)

// ---- samples

const SAMPLES = [
  { type: 'info', title: 'Welcome to Tutti', message: 'The manual explains the first steps.', link: '/manual' },
  { type: 'success', title: 'Your first task is done', message: 'This is what good news looks like.' },
  { type: 'warning', title: 'A key expires in a week', message: 'This is what a warning looks like.' },
  { type: 'error', title: 'A webhook could not be reached', message: 'This is what a failure looks like.' },
] as const

export const seed = write(
  'notifications.seed',
  admin,
  async (ctx, _: Record<string, never>): Promise<{ created: number }> => {
    const userId = userIdOf(ctx.actor)
    // Locks the user, so that concurrent requests do not create the samples twice.
    await ctx.db.select({ id: users.id }).from(users).where(eq(users.id, userId)).for('no key update')
    const has = await ctx.db.$count(
      notifications,
      and(eq(notifications.userId, userId), eq(notifications.reason, 'sample')),
    )
    if (has > 0) return { created: 0 }
    await notify(ctx, ...SAMPLES.map((sample) => ({ ...sample, userId, reason: 'sample' })))
    return { created: SAMPLES.length }
  },
  { idempotent: true },
)
