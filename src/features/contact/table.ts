import { boolean, index, pgTable, text } from 'drizzle-orm/pg-core'
import { instant, softRecord } from '../../db/columns.ts'

/** Messages that visitors sent by the form. */
export const contactMessages = pgTable(
  'contact_messages',
  {
    ...softRecord(),
    name: text(),
    email: text().notNull(),
    subject: text(),
    message: text().notNull(),
    readAt: instant(),
    spam: boolean().notNull(),
    /** Why it was taken for spam. */
    reason: text(),
    /** Hash of the text: the same text again is spam. */
    textHash: text().notNull(),
  },
  (t) => [
    index('contact_messages_created').on(t.spam, t.createdAt, t.id),
    index('contact_messages_text').on(t.textHash),
  ],
)
