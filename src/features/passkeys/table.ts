import { bigint, boolean, index, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { instant, record, textList } from '../../db/columns.ts'
import { users } from '../users/table.ts'

export const passkeys = pgTable(
  'passkeys',
  {
    ...record(),
    userId: uuid()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    name: text().notNull(),
    credentialId: text().notNull(),
    /** COSE key in base64url. */
    publicKey: text().notNull(),
    /** Number of uses, counted by the authenticator. A lower number than before means a copy. */
    counter: bigint({ mode: 'number' }).notNull(),
    transports: textList().notNull(),
    backedUp: boolean().notNull(),
    lastUsedAt: instant(),
  },
  (t) => [uniqueIndex('passkeys_credential').on(t.credentialId), index('passkeys_user').on(t.userId)],
)
