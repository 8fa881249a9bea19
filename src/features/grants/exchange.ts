import { createHash, createHmac } from 'node:crypto'
import { and, eq, getTableColumns, inArray, sql } from 'drizzle-orm'
import { type Ctx, write } from '../../action.ts'
import { findSpentSecret, redeemSecret } from '../../auth/one-time-secrets.ts'
import { anyone } from '../../auth/policy.ts'
import {
  bearerHashes,
  deriveKey,
  hashBearer,
  maskedSecret,
  newSecret,
  secretFrom,
  secretKind,
} from '../../auth/secrets.ts'
import { listText, newId } from '../../db/columns.ts'
import { placeholders, prepare, prepareDeferred } from '../../db/session.ts'
import { expiryAfter } from '../tokens/credentials.ts'
import { mcpTokens } from '../tokens/table.ts'
import { users } from '../users/table.ts'
import { OAuthError } from './clients.ts'
import { isMcpResource, requiredParam, singleParam } from './requests.ts'
import { endGrants, IDLE_DAYS, isLiveGrant } from './rows.ts'
import { oauthGrants, oauthRefreshTokens } from './table.ts'

const ACCESS_SECONDS = 3600
/** The previous refresh token still works this long: two windows of a program may renew at once. */
const GRACE_MS = 60_000

type Grant = typeof oauthGrants.$inferSelect

export interface Tokens {
  access_token: string
  token_type: 'Bearer'
  expires_in: number
  refresh_token: string
  scope: string
}

/** One error for all cases: a thief must not learn whether a token was ever valid. */
const NOT_VALID =
  'The code or token is unknown, already used, expired or revoked. Ask the user to authorize the program again.'
/** Returned inside a transaction instead of an error, which would roll back the end of a grant. */
const REFUSED = 'refused'
type Outcome = Tokens | typeof REFUSED

const requireTokens = (outcome: Outcome): Tokens => {
  if (outcome === REFUSED) throw new OAuthError('invalid_grant', NOT_VALID)
  return outcome
}

/** Derives the refresh token from its grant and number, so that concurrent renewals get the same token. */
const refreshTokenOf = ({ app }: Ctx, { id }: Pick<Grant, 'id'>, turn: number): string =>
  secretFrom('refresh', (counter) =>
    createHmac('sha512', deriveKey(app.secret, 'grant-refresh')).update(`${id}:${turn}:${counter}`).digest(),
  )

const now = sql.placeholder('now')
const storeToken = prepareDeferred((db) =>
  db.insert(mcpTokens).values({
    ...placeholders(
      'id',
      'grantId',
      'userId',
      'organizationId',
      'name',
      'scopes',
      'toolsets',
      'projects',
      'projectId',
      'agentId',
      'prefix',
      'last4',
      'hash',
      'expiresAt',
    ),
    kind: 'live',
    createdAt: now,
    updatedAt: now,
  }),
)

/** Creates an access token and returns it with the refresh token of this number. */
function issueTokens(ctx: Ctx, grant: Grant, turn: number): Tokens {
  const token = newSecret('mcp_live')
  const seconds = Math.min(ACCESS_SECONDS, Math.floor((Date.parse(grant.expiresAt) - Date.parse(ctx.now)) / 1000))
  storeToken(ctx.db, {
    id: newId(),
    grantId: grant.id,
    userId: grant.userId,
    organizationId: grant.organizationId,
    name: grant.clientName,
    scopes: grant.scopes,
    toolsets: grant.toolsets,
    projects: grant.projects,
    projectId: grant.projectId,
    agentId: grant.agentId,
    ...maskedSecret(token),
    hash: hashBearer(token, grant.projects),
    expiresAt: new Date(Date.parse(ctx.now) + seconds * 1000).toISOString(),
    now: ctx.now,
  })
  const scope = grant.scopes.includes('write') ? 'read write' : grant.scopes.join(' ')
  const refresh_token = refreshTokenOf(ctx, grant, turn)
  return { access_token: token, token_type: 'Bearer', expires_in: seconds, refresh_token, scope }
}

const storeTurn = prepareDeferred((db) =>
  db
    .update(oauthGrants)
    .set({
      turn: sql`${sql.placeholder('turn')}::int`,
      turnedAt: sql`${now}::timestamptz`,
      idleUntil: sql`${sql.placeholder('idleUntil')}::timestamptz`,
    })
    .where(eq(oauthGrants.id, sql.placeholder('grantId'))),
)
const storeRefresh = prepareDeferred((db) =>
  db.insert(oauthRefreshTokens).values(placeholders('hash', 'grantId', 'turn')),
)

/** Issues the next refresh token, which replaces the current one. */
function rotateTokens(ctx: Ctx, grant: Grant): Tokens {
  const next = { grantId: grant.id, turn: grant.turn + 1 }
  storeTurn(ctx.db, { ...next, now: ctx.now, idleUntil: expiryAfter(ctx.now, IDLE_DAYS) })
  const tokens = issueTokens(ctx, grant, next.turn)
  storeRefresh(ctx.db, { ...next, hash: hashBearer(tokens.refresh_token, grant.projects) })
  return tokens
}

const selectLockedGrant = prepare((db) =>
  db
    .select({ ...getTableColumns(oauthGrants), active: sql<boolean>`${users.status} = 'active'` })
    .from(oauthGrants)
    .innerJoin(users, eq(users.id, oauthGrants.userId))
    .where(and(eq(oauthGrants.id, sql.placeholder('id')), isLiveGrant({ now })))
    .for('update', { of: oauthGrants }),
)

/** Locks the grant, so that concurrent calls run one after the other. Returns undefined if it has ended. */
async function lockGrant(ctx: Ctx, id: string): Promise<Grant | undefined> {
  const [grant] = await selectLockedGrant(ctx.db, { id, now: ctx.now })
  return grant?.active ? grant : undefined
}

interface CodeUse {
  code: string
  clientId: string
  redirectUri: string | null
  verifier: string
}

const redeem = write('grants.redeem', anyone, async (ctx, use: CodeUse): Promise<Outcome> => {
  const code =
    (await redeemSecret(ctx, 'grant_code', use.code)) ?? (await redeemSecret(ctx, 'grant_code_limited', use.code))
  if (!code) {
    const spent =
      (await findSpentSecret(ctx, 'grant_code', use.code)) ??
      (await findSpentSecret(ctx, 'grant_code_limited', use.code))
    if (spent) await endGrants(ctx, eq(oauthGrants.id, String(spent.data.grantId)), 'A code was used twice')
    return REFUSED
  }
  const { grantId, clientId, redirectUri, challenge } = code.data as Record<string, string>
  const grant = await lockGrant(ctx, String(grantId))
  const isSender = createHash('sha256').update(use.verifier).digest('base64url') === challenge
  const isSame = use.clientId === clientId && (use.redirectUri ?? redirectUri) === redirectUri
  if (grant && isSender && isSame) return rotateTokens(ctx, grant)
  await endGrants(
    ctx,
    eq(oauthGrants.id, String(grantId)),
    'The code was used with other details than it was issued for',
  )
  return REFUSED
})

const renew = write(
  'grants.renew',
  anyone,
  async (ctx, { token, clientId }: { token: string; clientId: string }): Promise<Outcome> => {
    const [known] = await ctx.db
      .select({ grantId: oauthRefreshTokens.grantId, turn: oauthRefreshTokens.turn })
      .from(oauthRefreshTokens)
      .where(inArray(oauthRefreshTokens.hash, bearerHashes(token)))
    const grant = known && (await lockGrant(ctx, known.grantId))
    if (!known || !grant || clientId !== grant.clientId) return REFUSED
    if (known.turn === grant.turn) return rotateTokens(ctx, grant)
    const since = Date.parse(ctx.now) - Date.parse(grant.turnedAt ?? ctx.now)
    if (known.turn === grant.turn - 1 && since <= GRACE_MS) return issueTokens(ctx, grant, grant.turn)
    await endGrants(ctx, eq(oauthGrants.id, grant.id), 'An old refresh token was used')
    return REFUSED
  },
)

/** The token endpoint: a code or a refresh token for tokens. */
export async function exchangeToken(ctx: Ctx, base: string, form: URLSearchParams): Promise<Tokens> {
  if (!form.getAll('resource').every((resource) => isMcpResource(resource, base)))
    throw new OAuthError('invalid_target', 'Tokens are for the MCP endpoint only.')
  switch (requiredParam(form, 'grant_type')) {
    case 'authorization_code':
      return requireTokens(
        await redeem(ctx, {
          code: requiredParam(form, 'code'),
          clientId: requiredParam(form, 'client_id'),
          redirectUri: singleParam(form, 'redirect_uri'),
          verifier: requiredParam(form, 'code_verifier'),
        }),
      )
    case 'refresh_token': {
      // Programs have no secret, so only their id binds a refresh token to them (OAuth 2.1, 4.3.1).
      const token = requiredParam(form, 'refresh_token')
      return requireTokens(await renew(ctx, { token, clientId: requiredParam(form, 'client_id') }))
    }
    default:
      throw new OAuthError('unsupported_grant_type', 'grant_type must be authorization_code or refresh_token.')
  }
}

/** Ends the grant of a refresh or access token (RFC 7009). Needs no other proof than the token. */
export const endByToken = write(
  'grants.endByToken',
  anyone,
  async (ctx, { token }: { token: string }): Promise<void> => {
    const hashes = sql`any(${listText(bearerHashes(token))}::text[])`
    const refresh = oauthRefreshTokens
    const of =
      secretKind(token) === 'refresh'
        ? sql`(select ${refresh.grantId} from ${refresh} where ${refresh.hash} = ${hashes})`
        : sql`(select ${mcpTokens.grantId} from ${mcpTokens} where ${mcpTokens.hash} = ${hashes})`
    await endGrants(ctx, sql`${oauthGrants.id} = ${of}`, 'The program ended its access')
  },
)
