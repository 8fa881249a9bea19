import { index, integer, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { instant, newId } from '../../db/columns.ts'

/** Every mail, sent or kept. What it says is sealed, and wiped once it is sent, used or stale. */
export const mails = pgTable(
  'mails',
  {
    id: uuid().primaryKey().$defaultFn(newId),
    createdAt: instant().notNull(),
    recipient: text().notNull(),
    /** `code`, `magic_link`, `reset` …: what it was for. */
    kind: text().notNull(),
    subject: text().notNull(),
    sealed: text(),
    /** `kept`: there is no SMTP server, an administrator reads it out. */
    status: text().$type<'queued' | 'sent' | 'kept' | 'failed'>().notNull(),
    attempts: integer().notNull().default(0),
    error: text(),
    sentAt: instant(),
    /** After this its content is of no use and is wiped. */
    expiresAt: instant().notNull(),
  },
  (t) => [
    index('mails_created').on(t.createdAt, t.id),
    index('mails_recipient').on(t.recipient),
    index('mails_expires').on(t.expiresAt),
  ],
)
