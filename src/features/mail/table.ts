import { index, integer, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { instant, newId } from '../../db/columns.ts'

/** Every mail, sent or kept. The content is sealed, and erased once the mail is sent, used or expired. */
export const mails = pgTable(
  'mails',
  {
    id: uuid().primaryKey().$defaultFn(newId),
    createdAt: instant().notNull(),
    recipient: text().notNull(),
    /** Purpose: `code`, `magic_link`, `reset` … */
    kind: text().notNull(),
    subject: text().notNull(),
    sealed: text(),
    /** `kept`: there is no SMTP server, so an administrator passes the content on. */
    status: text().$type<'queued' | 'sent' | 'kept' | 'failed'>().notNull(),
    attempts: integer().notNull().default(0),
    error: text(),
    sentAt: instant(),
    /** After this the content is erased. */
    expiresAt: instant().notNull(),
  },
  (t) => [
    index('mails_created').on(t.createdAt, t.id),
    index('mails_recipient').on(t.recipient),
    index('mails_expires').on(t.expiresAt),
  ],
)
