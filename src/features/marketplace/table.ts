import { index, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core'
import { instant } from '../../db/columns.ts'
import { users } from '../users/table.ts'

/** Reports of public skills and agents, one of each user. */
export const marketplaceReports = pgTable(
  'marketplace_reports',
  {
    recordId: uuid().notNull(),
    userId: uuid()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    reason: text().notNull(),
    createdAt: instant().notNull(),
  },
  (t) => [primaryKey({ columns: [t.recordId, t.userId] }), index('marketplace_reports_user').on(t.userId)],
)
