import { index, integer, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { instant, record, textList } from '../../db/columns.ts'
import { organizations } from '../organizations/table.ts'
import { users } from '../users/table.ts'

const secret = () => ({
  ...record(),
  userId: uuid()
    .notNull()
    .references(() => users.id, { onDelete: 'cascade' }),
  name: text().notNull(),
  scopes: textList().notNull(),
  prefix: text().notNull(),
  last4: text().notNull(),
  /** SHA-256 of the token; of one that is limited to projects, of `limited:` and the token (`hashBearer`). */
  hash: text().notNull(),
  /** The only projects that it sees. Null: no limit. Empty: none. */
  projects: textList(),
  lastUsedAt: instant(),
  expiresAt: instant().notNull(),
  revokedAt: instant(),
})

export const apiKeys = pgTable(
  'api_keys',
  { ...secret(), organizationId: uuid().references(() => organizations.id, { onDelete: 'cascade' }) },
  (t) => [
    uniqueIndex('api_keys_hash').on(t.hash),
    index('api_keys_user').on(t.userId),
    index('api_keys_organization').on(t.organizationId),
  ],
)

export const mcpTokens = pgTable(
  'mcp_tokens',
  {
    ...secret(),
    organizationId: uuid()
      .notNull()
      .references(() => organizations.id, { onDelete: 'cascade' }),
    kind: text().$type<'live' | 'test'>().notNull(),
    /** The permission that it belongs to, if a program got it by sign-in. Such tokens are not listed. */
    grantId: uuid(),
    toolsets: textList().notNull(),
    /** The default project of its calls. */
    projectId: uuid(),
    /** The agent that uses it; a call can name another one. */
    agentId: uuid(),
    /** When it was first used, and the program that used it last, by the name that it sent. */
    firstUsedAt: instant(),
    clientName: text(),
    clientVersion: text(),
    lastUsedIp: text(),
    useCount: integer().notNull().default(0),
  },
  (t) => [
    uniqueIndex('mcp_tokens_hash').on(t.hash),
    index('mcp_tokens_user').on(t.userId),
    index('mcp_tokens_organization').on(t.organizationId),
    index('mcp_tokens_grant').on(t.grantId),
  ],
)
