import { integer, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { instant, json } from '../../db/columns.ts'
import { users } from '../users/table.ts'

/** Settings of the instance that administrators change while it runs. Only what differs from a default is stored. */
export const siteSettings = pgTable('site_settings', {
  key: text().primaryKey(),
  values: json<Record<string, unknown>>().notNull(),
  /** Sealed with the master secret, by field. Never sent to anybody. */
  secrets: json<Record<string, SealedSecret>>().notNull(),
  version: integer().notNull().default(1),
  updatedAt: instant().notNull(),
  updatedById: uuid().references(() => users.id, { onDelete: 'set null' }),
})

export interface SealedSecret {
  sealed: string
  /** Its last four characters, so that administrators can tell which one it is. */
  last4: string
}
