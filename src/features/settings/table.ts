import { integer, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { instant, json } from '../../db/columns.ts'
import { users } from '../users/table.ts'

/** Settings that administrators change while the server runs. Only values that differ from a default are stored. */
export const siteSettings = pgTable('site_settings', {
  key: text().primaryKey(),
  values: json<Record<string, unknown>>().notNull(),
  /** Encrypted with the master secret, by field. Never sent to anyone. */
  secrets: json<Record<string, SealedSecret>>().notNull(),
  version: integer().notNull().default(1),
  updatedAt: instant().notNull(),
  updatedById: uuid().references(() => users.id, { onDelete: 'set null' }),
})

export interface SealedSecret {
  sealed: string
  /** Its last four characters, so that administrators recognise it. */
  last4: string
}
