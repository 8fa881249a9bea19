import { pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { record } from '../../db/columns.ts'
import { users } from '../users/table.ts'
import type { Provider } from './schema.ts'

/** An identity at a sign-in provider. (provider, subject) identifies it; the e-mail address is only shown. */
export const connectedAccounts = pgTable(
  'connected_accounts',
  {
    ...record(),
    userId: uuid()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    provider: text().$type<Provider>().notNull(),
    subject: text().notNull(),
    email: text(),
    name: text(),
    avatarUrl: text(),
    /** The provider's tokens, sealed. */
    sealed: text(),
  },
  (t) => [
    uniqueIndex('connected_accounts_subject').on(t.provider, t.subject),
    uniqueIndex('connected_accounts_user').on(t.userId, t.provider),
  ],
)
