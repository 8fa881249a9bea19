import { and, eq, inArray, isNotNull, isNull, lte, or, type SQL, sql } from 'drizzle-orm'
import { type Ctx, checkVersion, read, write } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { account, type Rule } from '../../auth/policy.ts'
import { newId } from '../../db/columns.ts'
import { notFound } from '../../errors.ts'
import { keyset } from '../../records/page.ts'
import { isVisibleRecord } from '../../records/readable.ts'
import { updateVersioned } from '../../records/rows.ts'
import { withDelivery } from './delivery.ts'
import { notificationCreated, notificationRead, notificationSettled, notificationUpdated } from './events.ts'
import { onNotified } from './hooks.ts'
import type {
  Notification,
  NotificationCount,
  NotificationPage,
  NotificationPatch,
  NotificationQuery,
  View,
} from './schema.ts'
import { pagesOf, type RecordReference, type SubjectColumns, withSubjects } from './subjects.ts'
import { isOpen, notifications } from './table.ts'

export interface Notice {
  userId: string
  type?: 'info' | 'success' | 'warning' | 'error'
  /** Why: `mention`, `review`, `security` … Those in `isOpen` (table.ts) require an action of the reader. */
  reason: string
  title: string
  message?: string
  /** A path of this instance, or an address. Default: the page of the record that it is about. */
  link?: string
  /** The record that it quotes. The notification is shown only while the reader sees the record. */
  about?: RecordReference
  /** Who caused it. Default: the caller. */
  from?: { type: 'user' | 'agent'; id: string }
}

/** Creates notifications in the caller's transaction. */
export async function notify(ctx: Ctx, ...notices: Notice[]): Promise<void> {
  if (notices.length === 0) return
  const pages = await pagesOf(
    ctx,
    notices.flatMap(({ link, about }) => (link === undefined && about ? [about] : [])),
  )
  const delivered = await withDelivery(ctx, notices)
  if (delivered.length === 0) return
  const rows = delivered.map(({ about, from = causeOf(ctx), ...notice }) => ({
    id: newId(),
    type: 'info' as const,
    link: about && pages.get(about.id),
    ...notice,
    // Texts of users may be longer than the limits of a notification.
    title: notice.title.slice(0, 200),
    message: notice.message?.slice(0, 2000),
    recordKind: about?.kind,
    recordId: about?.id,
    fromType: from?.type,
    fromId: from?.id,
    createdAt: ctx.now,
    updatedAt: ctx.now,
  }))
  await ctx.db.insert(notifications).values(rows)
  for (const row of rows) if (row.inbox) emitNotification(ctx, row)
  await onNotified.call(ctx, rows)
}

/** The agent that acts, else the person; undefined for the server itself. */
const causeOf = ({ actor }: Ctx): Notice['from'] =>
  actor.agent ? { type: 'agent', id: actor.agent.id } : actor.userId ? { type: 'user', id: actor.userId } : undefined

interface SettledBy {
  /** The record that the notifications are about. */
  id: string
  reasons: readonly string[]
  /** Default: those of all users. */
  userId?: string
  /** Leaves out what this person or agent caused. */
  notFrom?: string
}

/** Marks notifications about a record as done, because their request was completed. */
export async function settleNotifications(ctx: Ctx, { id, reasons, userId, notFrom }: SettledBy): Promise<void> {
  const settled = await ctx.db
    .update(notifications)
    .set({
      doneAt: ctx.now,
      readAt: sql`coalesce(${notifications.readAt}, ${ctx.now}::timestamptz)`,
      ...versionBump(ctx),
    })
    .where(
      and(
        eq(notifications.recordId, id),
        isNull(notifications.doneAt),
        inArray(notifications.reason, [...reasons]),
        userId === undefined ? undefined : eq(notifications.userId, userId),
        notFrom === undefined ? undefined : sql`${notifications.fromId} is distinct from ${notFrom}::uuid`,
      ),
    )
    .returning({ id: notifications.id, userId: notifications.userId, reason: notifications.reason })
  for (const one of settled)
    ctx.emit(notificationSettled, { subjectId: one.id, userId: one.userId, data: { reason: one.reason } })
}

export const emitNotification = (
  ctx: Ctx,
  { id, userId, type, reason, title }: Pick<Notification, 'id' | 'type' | 'reason' | 'title'> & { userId: string },
): void => ctx.emit(notificationCreated, { subjectId: id, userId, data: { type, reason, title } })

// ---- the reader's side

type Row = Omit<Notification, 'subject' | 'from'> & SubjectColumns

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
  done: sql<boolean>`${notifications.doneAt} is not null`,
  snoozedUntil: notifications.snoozedUntil,
  recordKind: notifications.recordKind,
  recordId: notifications.recordId,
  fromType: notifications.fromType,
  fromId: notifications.fromId,
}

const isOwnNotification = (ctx: Ctx) => eq(notifications.userId, userIdOf(ctx.actor))
/** SQL condition: the caller's notifications whose record they still see, also those outside the inbox. */
export const isReadableNotification = (ctx: Ctx) =>
  and(
    isOwnNotification(ctx),
    or(
      isNull(notifications.recordKind),
      eq(notifications.recordKind, 'invite'),
      isVisibleRecord(ctx, notifications.recordKind, notifications.recordId),
    ),
  )
/** SQL condition: the notifications in the caller's inbox. */
const isInInbox = (ctx: Ctx) => and(isReadableNotification(ctx), notifications.inbox)
const unread = isNull(notifications.readAt)
const needsReader = (ctx: Ctx) =>
  and(isOpen(notifications), or(isNull(notifications.snoozedUntil), lte(notifications.snoozedUntil, ctx.now)))

const viewConditions: Record<View, (ctx: Ctx) => SQL | undefined> = {
  needs: needsReader,
  unread: () => unread,
  all: () => undefined,
}

/** Excludes administrators who act as the user: they could hide the notification about their own access. */
export const readerRule: Rule = { ...account('notifications:write'), own: true }

export const list = read(
  'notifications.list',
  account('notifications:read'),
  async (ctx, query: NotificationQuery): Promise<NotificationPage> => {
    const page = keyset({ createdAt: notifications.createdAt }, notifications.id, query, { sort: 'createdAt' })
    const filters = [
      isInInbox(ctx),
      viewConditions[query.view ?? 'all'](ctx),
      query.unread === undefined ? undefined : query.unread ? unread : isNotNull(notifications.readAt),
    ]
    const rows: Row[] = await ctx.db
      .select(visible)
      .from(notifications)
      .where(page.where(...filters))
      .orderBy(...page.orderBy)
      .limit(page.limit)
    const total = query.total ? await ctx.db.$count(notifications, and(...filters)) : undefined
    const { items, ...rest } = page.page(rows, total)
    return { items: await withSubjects(ctx, items), ...rest }
  },
)

export const count = read(
  'notifications.count',
  account('notifications:read'),
  async (ctx, _: Record<string, never>): Promise<NotificationCount> => {
    const number = (condition?: SQL) => sql<number>`count(*) filter (where ${condition ?? sql`true`})`.mapWith(Number)
    const [counted] = await ctx.db
      .select({ needs: number(needsReader(ctx)), unread: number(unread), all: number() })
      .from(notifications)
      .where(isInInbox(ctx))
    return counted ?? { needs: 0, unread: 0, all: 0 }
  },
)

const versionBump = (ctx: Ctx) => ({ updatedAt: ctx.now, version: sql`${notifications.version} + 1` })
const markRead = (ctx: Ctx) => ({ readAt: ctx.now, ...versionBump(ctx) })

export const readAll = write(
  'notifications.readAll',
  readerRule,
  async (ctx, _: Record<string, never>): Promise<{ read: number }> => {
    const { count: changed } = await ctx.db
      .update(notifications)
      .set(markRead(ctx))
      .where(and(isInInbox(ctx), unread))
    if (changed > 0) ctx.emit(notificationRead, { userId: ctx.actor.userId, data: { read: changed } })
    return { read: changed }
  },
  { idempotent: true },
)

async function findNotification(ctx: Ctx, id: string): Promise<Notification> {
  const rows: Row[] = await ctx.db
    .select(visible)
    .from(notifications)
    .where(and(isInInbox(ctx), eq(notifications.id, id)))
  const [found] = await withSubjects(ctx, rows)
  if (!found) throw notFound('notification', id)
  return found
}

export const readOne = write(
  'notifications.read',
  readerRule,
  async (ctx, { id }: { id: string }): Promise<Notification> => {
    const { count: changed } = await ctx.db
      .update(notifications)
      .set(markRead(ctx))
      .where(and(isInInbox(ctx), eq(notifications.id, id), unread))
    if (changed > 0) ctx.emit(notificationRead, { subjectId: id, userId: ctx.actor.userId })
    return findNotification(ctx, id)
  },
  { idempotent: true },
)

export interface UnreadNotification {
  id: string
  title: string
  message: string | null
  link: string | null
  recordId: string | null
  /** Whether it requires an action of its reader. */
  needsReader: boolean
}

/** Returns a notification of the caller, unless they have read it or no longer see its record. */
export const findUnreadNotification = read(
  'notifications.findUnread',
  account('notifications:read'),
  async (ctx, { id }: { id: string }): Promise<UnreadNotification | undefined> => {
    const { title, message, link, recordId } = notifications
    const needsReader = sql<boolean>`${isOpen(notifications)}`
    const [found] = await ctx.db
      .select({ id: notifications.id, title, message, link, recordId, needsReader })
      .from(notifications)
      .where(and(isReadableNotification(ctx), eq(notifications.id, id), unread, isNull(notifications.doneAt)))
    return found
  },
)

/** Marks a notification as read, unread, done or not done, or snoozes it. */
export const update = write(
  'notifications.update',
  readerRule,
  async (ctx, { id, read, done, snoozedUntil }: NotificationPatch & { id: string }): Promise<Notification> => {
    const before = await findNotification(ctx, id)
    checkVersion(ctx, before)
    const isRead = read ?? (done ? true : undefined)
    await updateVersioned(ctx, notifications, {
      columns: { id: notifications.id, version: notifications.version },
      before,
      set: {
        ...(isRead !== undefined && { readAt: isRead ? (before.readAt ?? ctx.now) : null }),
        ...(done !== undefined && done !== before.done && { doneAt: done ? ctx.now : null }),
        ...(snoozedUntil !== undefined && { snoozedUntil }),
      },
      what: 'this notification',
      again: () => findNotification(ctx, id),
    })
    const data = {
      ...(isRead !== undefined && { read: isRead }),
      ...(done !== undefined && { done }),
      ...(snoozedUntil !== undefined && { snoozedUntil }),
    }
    ctx.emit(notificationUpdated, { subjectId: id, userId: ctx.actor.userId, data })
    return findNotification(ctx, id)
  },
  { versioned: true },
)
