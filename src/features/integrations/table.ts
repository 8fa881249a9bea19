import { pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { instant, json, record } from '../../db/columns.ts'
import { users } from '../users/table.ts'
import type { Provider, Settings } from './schema.ts'

/** Services that users have connected for themselves: tokens of code hosts, targets of their notifications. */
export const integrations = pgTable(
  'integrations',
  {
    ...record(),
    userId: uuid()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    provider: text().$type<Provider>().notNull(),
    settings: json<Settings>().notNull(),
    /** Token or webhook address, sealed; lists show the last four characters. */
    sealed: text().notNull(),
    last4: text().notNull(),
    lastDeliveredAt: instant(),
    /** Error of the last delivery; null after a successful one. */
    lastError: text(),
  },
  (t) => [uniqueIndex('integrations_user').on(t.userId, t.provider)],
)
