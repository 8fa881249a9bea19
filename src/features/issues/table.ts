import { index, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { instant, record } from '../../db/columns.ts'
import { users } from '../users/table.ts'

/** A report about the service by one of its users. */
export const issues = pgTable(
  'issues',
  {
    ...record(),
    userId: uuid()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    title: text().notNull(),
    description: text().notNull(),
    priority: text().$type<'critical' | 'high' | 'medium' | 'low'>().notNull(),
    status: text().$type<'open' | 'in_review' | 'closed'>().notNull(),
    answer: text(),
    answeredById: uuid().references(() => users.id, { onDelete: 'set null' }),
    answeredAt: instant(),
  },
  (t) => [index('issues_user').on(t.userId, t.createdAt, t.id), index('issues_status').on(t.status, t.createdAt, t.id)],
)
