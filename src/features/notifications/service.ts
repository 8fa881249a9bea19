import { and, eq, isNotNull, isNull, or, sql } from 'drizzle-orm'
import { type Ctx, read, write } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { account, type Rule } from '../../auth/policy.ts'
import { newId } from '../../db/columns.ts'
import { notFound } from '../../errors.ts'
import type { RecordName } from '../../records/names.ts'
import { keyset } from '../../records/page.ts'
import { isSeen } from '../../records/readable.ts'
import { notificationCreated, notificationRead } from './events.ts'
import { onNotified } from './hooks.ts'
import type { Notification, NotificationPage, NotificationQuery } from './schema.ts'
import { notifications } from './table.ts'

export interface Notice {
  userId: string
  type?: 'info' | 'success' | 'warning' | 'error'
  /** Why: `invite`, `security`, `admin`, `assignment`, `mention`, `review`, `freed`, `needs_you`. */
  reason: string
  title: string
  message?: string
  /** A path of this instance, or an address. */
  link?: string
  /** The record whose words it repeats: whoever loses sight of the record also loses the notification. */
  about?: { kind: RecordName; id: string }
}

/** Creates notifications in the caller's transaction. */
export async function notify(ctx: Ctx, ...notices: Notice[]): Promise<void> {
  if (notices.length === 0) return
  const rows = notices.map(({ about, ...notice }) => ({
    id: newId(),
    type: 'info' as const,
    ...notice,
    // They often contain text written by users, which may be longer than the limits of a notification.
    title: notice.title.slice(0, 200),
    message: notice.message?.slice(0, 2000),
    recordKind: about?.kind,
    recordId: about?.id,
    createdAt: ctx.now,
    updatedAt: ctx.now,
  }))
  await ctx.db.insert(notifications).values(rows)
  for (const row of rows) announce(ctx, row)
  await onNotified.call(ctx, rows)
}

export const announce = (
  ctx: Ctx,
  { id, userId, type, reason, title }: Pick<Notification, 'id' | 'type' | 'reason' | 'title'> & { userId: string },
): void => ctx.emit(notificationCreated, { subjectId: id, userId, data: { type, reason, title } })

// ---- the reader's side

const visible = {
  id: notifications.id,
  createdAt: notifications.createdAt,
  updatedAt: notifications.updatedAt,
  version: notifications.version,
  type: notifications.type,
  reason: notifications.reason,
  title: notifications.title,
  message: notifications.message,
  link: notifications.link,
  readAt: notifications.readAt,
}

const mine = (ctx: Ctx) => eq(notifications.userId, userIdOf(ctx.actor))
/** Those that the reader may read today. */
const shown = (ctx: Ctx) =>
  and(mine(ctx), or(isNull(notifications.recordKind), isSeen(ctx, notifications.recordKind, notifications.recordId)))
const unread = isNull(notifications.readAt)

/** Excludes administrators who act as the user: they could hide the notification about it. */
const reader: Rule = { ...account('notifications:write'), own: true }

export const list = read(
  'notifications.list',
  account('notifications:read'),
  async (ctx, query: NotificationQuery): Promise<NotificationPage> => {
    const page = keyset({ createdAt: notifications.createdAt }, notifications.id, query, { sort: 'createdAt' })
    const filters = [
      shown(ctx),
      query.unread === undefined ? undefined : query.unread ? unread : isNotNull(notifications.readAt),
    ]
    const rows = await ctx.db
      .select(visible)
      .from(notifications)
      .where(page.where(...filters))
      .orderBy(...page.orderBy)
      .limit(page.limit)
    return page.page(rows, query.total ? await ctx.db.$count(notifications, and(...filters)) : undefined)
  },
)

export const count = read(
  'notifications.count',
  account('notifications:read'),
  async (ctx, _: Record<string, never>): Promise<{ unread: number }> => ({
    unread: await ctx.db.$count(notifications, and(shown(ctx), unread)),
  }),
)

const markRead = (ctx: Ctx) => ({ readAt: ctx.now, updatedAt: ctx.now, version: sql`${notifications.version} + 1` })

export const readAll = write(
  'notifications.readAll',
  reader,
  async (ctx, _: Record<string, never>): Promise<{ read: number }> => {
    const { count: changed } = await ctx.db
      .update(notifications)
      .set(markRead(ctx))
      .where(and(shown(ctx), unread))
    if (changed > 0) ctx.emit(notificationRead, { userId: ctx.actor.userId, data: { read: changed } })
    return { read: changed }
  },
  { idempotent: true },
)

export const readOne = write(
  'notifications.read',
  reader,
  async (ctx, { id }: { id: string }): Promise<Notification> => {
    const one = and(shown(ctx), eq(notifications.id, id))
    const [changed] = await ctx.db.update(notifications).set(markRead(ctx)).where(and(one, unread)).returning(visible)
    if (changed) {
      ctx.emit(notificationRead, { subjectId: id, userId: ctx.actor.userId })
      return changed
    }
    const [found] = await ctx.db.select(visible).from(notifications).where(one)
    if (!found) throw notFound('notification', id)
    return found
  },
  { idempotent: true },
)
