import { pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { record } from '../../db/columns.ts'
import { users } from '../users/table.ts'
import type { Provider } from './schema.ts'

/**
 * An identity at a sign-in provider. (issuer, subject) identifies it, not the name of the provider: if the operator
 * changes the address of a provider, the same subject is someone else.
 */
export const connectedAccounts = pgTable(
  'connected_accounts',
  {
    ...record(),
    userId: uuid()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    provider: text().$type<Provider>().notNull(),
    /**
     * Null in rows that are older than this column, because a migration does not know the configuration. The first
     * start sets it (`stampIssuers`); it stays null where the provider was not configured then, and matches no one.
     */
    issuer: text(),
    subject: text().notNull(),
    email: text(),
    name: text(),
    avatarUrl: text(),
    /** The provider's tokens, sealed. */
    sealed: text(),
  },
  (t) => [
    uniqueIndex('connected_accounts_subject').on(t.issuer, t.subject),
    uniqueIndex('connected_accounts_user').on(t.userId, t.provider),
  ],
)
