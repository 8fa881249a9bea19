import { index, integer, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { instant, record, textList } from '../../db/columns.ts'
import { organizations } from '../organizations/table.ts'
import { users } from '../users/table.ts'

/** How a program is known: by a published document, by registration, or because an administrator added it. */
export type ClientKind = 'document' | 'registered' | 'added'

/** Programs that ask people to authorize them. */
export const oauthClients = pgTable(
  'oauth_clients',
  {
    /** The `client_id`: a random id, or the address of the program's document. */
    id: text().primaryKey(),
    kind: text().$type<ClientKind>().notNull(),
    /** Name that the program chose: untrusted text. */
    name: text().notNull(),
    redirectUris: textList().notNull(),
    createdAt: instant().notNull(),
    /** For a document: when it has to be read again. */
    freshUntil: instant(),
  },
  (t) => [index('oauth_clients_created').on(t.kind, t.createdAt)],
)

/** The access of one program, given by one user in one team. Its access tokens are rows of `mcp_tokens`. */
export const oauthGrants = pgTable(
  'oauth_grants',
  {
    ...record(),
    userId: uuid()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    organizationId: uuid()
      .notNull()
      .references(() => organizations.id, { onDelete: 'cascade' }),
    clientId: text().notNull(),
    clientName: text().notNull(),
    /** The host of its document; null without one. */
    clientHost: text(),
    agentId: uuid(),
    /** The default project of its calls. */
    projectId: uuid(),
    /** The only projects that it sees. Null: no limit. Empty: it sees nothing. */
    projects: textList(),
    scopes: textList().notNull(),
    toolsets: textList().notNull(),
    /** The number of the valid refresh token, and since when it is valid. 0: the program has not fetched any. */
    turn: integer().notNull().default(0),
    turnedAt: instant(),
    /** The grant ends if it is not renewed by then. */
    idleUntil: instant().notNull(),
    expiresAt: instant().notNull(),
    lastUsedAt: instant(),
    lastUsedIp: text(),
    useCount: integer().notNull().default(0),
    revokedAt: instant(),
  },
  (t) => [
    index('oauth_grants_user').on(t.userId),
    index('oauth_grants_organization').on(t.organizationId),
    index('oauth_grants_client').on(t.clientId),
    index('oauth_grants_agent').on(t.agentId),
  ],
)

/** All refresh tokens of a grant, also replaced ones: using an old one ends the grant. */
export const oauthRefreshTokens = pgTable(
  'oauth_refresh_tokens',
  {
    hash: text().primaryKey(),
    grantId: uuid()
      .notNull()
      .references(() => oauthGrants.id, { onDelete: 'cascade' }),
    turn: integer().notNull(),
  },
  (t) => [index('oauth_refresh_tokens_grant').on(t.grantId)],
)
