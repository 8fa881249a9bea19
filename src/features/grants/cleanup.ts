import type { SQL } from 'drizzle-orm'
import { eq, isNotNull, isNull, lt, ne, sql } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import { and, or } from '../../db/conditions.ts'
import { expiryAfter } from '../tokens/credentials.ts'
import { mcpTokens } from '../tokens/table.ts'
import { oauthClients, oauthGrants } from './table.ts'

/** Ended grants are kept this long, so that users can see what happened. */
const ENDED_DAYS = 30

/**
 * Returns which rows to delete, in this order: expired access tokens, grants that ended or were never used, and
 * programs without a grant.
 */
export function overdueRows(now: string): { table: PgTable; where: SQL }[] {
  const [dayAgo, longAgo] = [expiryAfter(now, -1), expiryAfter(now, -ENDED_DAYS)]
  return [
    { table: mcpTokens, where: and(isNotNull(mcpTokens.grantId), lt(mcpTokens.expiresAt, dayAgo)) },
    {
      table: oauthGrants,
      where: or(
        lt(oauthGrants.revokedAt, longAgo),
        lt(oauthGrants.expiresAt, longAgo),
        lt(oauthGrants.idleUntil, longAgo),
        and(eq(oauthGrants.turn, 0), lt(oauthGrants.createdAt, dayAgo)),
      ),
    },
    {
      table: oauthClients,
      where: and(
        ne(oauthClients.kind, 'added'),
        lt(oauthClients.createdAt, dayAgo),
        or(isNull(oauthClients.freshUntil), lt(oauthClients.freshUntil, now)),
        sql`not exists (select 1 from ${oauthGrants} where ${oauthGrants.clientId} = ${oauthClients.id})`,
      ),
    },
  ]
}
