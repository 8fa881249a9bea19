import { pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { instant } from '../../db/columns.ts'
import type { MarketName } from '../../records/names.ts'
import { users } from '../users/table.ts'

/**
 * Public skills and agents that an administrator has hidden: only their own team sees them. In a separate table,
 * because the records themselves do not change.
 */
export const hiddenRecords = pgTable('hidden_records', {
  recordId: uuid().primaryKey(),
  kind: text().$type<MarketName>().notNull(),
  reason: text(),
  hiddenById: uuid().references(() => users.id, { onDelete: 'set null' }),
  hiddenAt: instant().notNull(),
})
