import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { boolean, index, integer, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { instant, json, newId, record } from '../../db/columns.ts'
import type { RecordName } from '../../records/names.ts'
import { users } from '../users/table.ts'
import type { Audience } from './schema.ts'

/**
 * SQL condition: the notification requires an action of its reader. The same text as in the index
 * `notifications_needs`; otherwise the planner would not use the index.
 */
export const isOpen = (t: { reason: SQLWrapper; doneAt: SQLWrapper }): SQL =>
  sql`${t.doneAt} is null and ${t.reason} in ('review', 'assignment', 'mention', 'question', 'stalled', 'decision',
    'invite', 'needs_you')`

/** Notifications sent by administrators: one row for all recipients. */
export const announcements = pgTable(
  'announcements',
  {
    id: uuid().primaryKey().$defaultFn(newId),
    createdAt: instant().notNull(),
    sentById: uuid().references(() => users.id, { onDelete: 'set null' }),
    type: text().$type<'info' | 'success' | 'warning' | 'error'>().notNull(),
    title: text().notNull(),
    message: text(),
    link: text(),
    audience: json<Audience>().notNull(),
    recipients: integer().notNull(),
  },
  (t) => [index('announcements_created').on(t.createdAt, t.id)],
)

export const notifications = pgTable(
  'notifications',
  {
    ...record(),
    userId: uuid()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    type: text().$type<'info' | 'success' | 'warning' | 'error'>().notNull(),
    /** Why it was sent: `invite`, `security`, `admin`, `assignment` … */
    reason: text().notNull(),
    title: text().notNull(),
    message: text(),
    link: text(),
    /** The record that it quotes. The notification is shown only while its reader sees the record. */
    recordKind: text().$type<RecordName | 'invite'>(),
    recordId: uuid(),
    readAt: instant(),
    /** When its reader marked it as done, or its request was completed elsewhere. */
    doneAt: instant(),
    snoozedUntil: instant(),
    /** Who caused it; null for the server itself. */
    fromType: text().$type<'user' | 'agent'>(),
    fromId: uuid(),
    announcementId: uuid().references(() => announcements.id, { onDelete: 'set null' }),
    /** false: its reader does not want this reason in the inbox. It is then only mailed, pushed or forwarded. */
    inbox: boolean().notNull().default(true),
    /**
     * The pending mail: at once, with the next daily mail, or with the mails of an announcement
     * (`announcement-mail.ts`). Null once it is queued, or if none is wanted.
     */
    mail: text().$type<'now' | 'daily' | 'announcement'>(),
  },
  (t) => [
    index('notifications_user').on(t.userId, t.createdAt, t.id),
    index('notifications_unread').on(t.userId).where(sql`${t.readAt} is null`),
    index('notifications_needs').on(t.userId, t.createdAt, t.id).where(isOpen(t)),
    index('notifications_record').on(t.recordId).where(sql`${t.doneAt} is null and ${t.recordId} is not null`),
    index('notifications_mail').on(t.userId, t.createdAt).where(sql`${t.mail} is not null`),
    index('notifications_created').using('brin', t.createdAt),
  ],
)
