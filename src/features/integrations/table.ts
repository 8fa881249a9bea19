import { pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { json, record } from '../../db/columns.ts'
import { users } from '../accounts/table.ts'

/** What a user has connected for his own work: a code host token, places that get his notifications. */
export const integrations = pgTable(
  'integrations',
  {
    ...record(),
    userId: uuid()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    provider: text().notNull(),
    settings: json<Record<string, unknown>>().notNull(),
    /** Token or webhook address, sealed; lists show the last four characters. */
    sealed: text().notNull(),
    last4: text().notNull(),
  },
  (t) => [uniqueIndex('integrations_user').on(t.userId, t.provider)],
)
