import { and, eq, gt, isNotNull, isNull, lte, or, sql } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import { type Ctx, read, write } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { account, deviceRefusal, known, person, recent, refuse } from '../../auth/policy.ts'
import { hashSecret, newSecret, shown } from '../../auth/secrets.ts'
import { AppError, invalid, notFound } from '../../errors.ts'
import { keyset } from '../../records/page.ts'
import { lockSession } from '../accounts/sign-in-methods.ts'
import { agentOfToken } from '../agents/of-token.ts'
import { findOwnAgent } from '../agents/parties.ts'
import { agents } from '../agents/table.ts'
import * as organizations from '../organizations/service.ts'
import * as projects from '../projects/rows.ts'
import { stopWithoutToken } from './agents.ts'
import { apiKeyCreated, apiKeyRevoked, mcpTokenCreated, mcpTokenRevoked } from './events.ts'
import type {
  ApiKeyCreate,
  ApiKeyCreated,
  ApiKeyPage,
  McpTokenCreate,
  McpTokenCreated,
  McpTokenPage,
  TokenQuery,
} from './schema.ts'
import { apiKeys, mcpTokens } from './table.ts'

/** Default lifetime in days, so that a forgotten key expires. */
const DAYS = { api_key: 90, live: 90, test: 30 }
const MOST = 100
/** A device that was signed in by a code may create tokens for its agents, but none that outlives any session. */
const MOST_DAYS_BY_DEVICE = 90

const visibleKey = {
  id: apiKeys.id,
  createdAt: apiKeys.createdAt,
  updatedAt: apiKeys.updatedAt,
  version: apiKeys.version,
  name: apiKeys.name,
  scopes: apiKeys.scopes,
  prefix: apiKeys.prefix,
  last4: apiKeys.last4,
  lastUsedAt: apiKeys.lastUsedAt,
  expiresAt: apiKeys.expiresAt,
  revokedAt: apiKeys.revokedAt,
  organizationId: apiKeys.organizationId,
}
const visibleToken = {
  id: mcpTokens.id,
  createdAt: mcpTokens.createdAt,
  updatedAt: mcpTokens.updatedAt,
  version: mcpTokens.version,
  name: mcpTokens.name,
  scopes: mcpTokens.scopes,
  prefix: mcpTokens.prefix,
  last4: mcpTokens.last4,
  lastUsedAt: mcpTokens.lastUsedAt,
  expiresAt: mcpTokens.expiresAt,
  revokedAt: mcpTokens.revokedAt,
  organizationId: mcpTokens.organizationId,
  kind: mcpTokens.kind,
  toolsets: mcpTokens.toolsets,
  projectId: mcpTokens.projectId,
  agentId: mcpTokens.agentId,
  agentName: sql<string | null>`(select ${agents.name} from ${agents} where ${agents.id} = ${mcpTokens.agentId})`,
  lastUsedIp: mcpTokens.lastUsedIp,
  useCount: mcpTokens.useCount,
}

const expiry = (now: string, days: number): string => new Date(Date.parse(now) + days * 86_400_000).toISOString()

async function requireBelowLimit(
  ctx: Ctx,
  table: PgTable & { userId: PgColumn; revokedAt: PgColumn; expiresAt: PgColumn },
): Promise<void> {
  const valid = and(eq(table.userId, userIdOf(ctx.actor)), isNull(table.revokedAt), gt(table.expiresAt, ctx.now))
  if ((await ctx.db.$count(table, valid)) >= MOST)
    throw new AppError('conflict', `You already have ${MOST} valid ones. Revoke some first.`)
}

/** Locks the session, so that a concurrent end of the user's credentials also ends the new one. */
const lockOwnSession = async (ctx: Ctx): Promise<unknown> =>
  ctx.actor.credentialId && lockSession(ctx, ctx.actor.credentialId)

/** Throws for unknown scopes and toolsets: a misspelt one would create a credential that can do nothing. */
function checkNames(scopes: readonly string[] = [], toolsets: readonly string[] = []): void {
  const scope = scopes.find((s) => s.includes(':') && !known.resources.has(s.split(':')[0] as string))
  if (scope)
    throw invalid(
      '/scopes',
      `There is no scope ${scope}. Use read, write, or one of these with :read or :write: ` +
        `${[...known.resources].sort().join(', ')}.`,
    )
  const toolset = toolsets.find((t) => !known.toolsets.has(t))
  if (toolset)
    throw invalid('/toolsets', `There is no toolset ${toolset}. Use one of: ${[...known.toolsets].join(', ')}.`)
}

// ---- API keys

/** Limits a list to credentials that work, or to those that no longer do. */
const isActive = ({ now }: Ctx, table: typeof apiKeys | typeof mcpTokens, active: boolean | undefined) => {
  if (active === undefined) return undefined
  const { revokedAt, expiresAt } = table
  return active ? and(isNull(revokedAt), gt(expiresAt, now)) : or(isNotNull(revokedAt), lte(expiresAt, now))
}

export const listKeys = read(
  'tokens.listKeys',
  account('keys:read'),
  async (ctx, query: TokenQuery): Promise<ApiKeyPage> => {
    const page = keyset({ createdAt: apiKeys.createdAt, name: apiKeys.name }, apiKeys.id, query, { sort: 'createdAt' })
    const own = and(eq(apiKeys.userId, userIdOf(ctx.actor)), isActive(ctx, apiKeys, query.active))
    const rows = await ctx.db
      .select(visibleKey)
      .from(apiKeys)
      .where(page.where(own))
      .orderBy(...page.orderBy)
      .limit(page.limit)
    return page.page(rows, query.total ? await ctx.db.$count(apiKeys, own) : undefined)
  },
)

/** A key can do almost all that its user can, so a stolen session or a device must not be enough to create one. */
export const createKey = write(
  'tokens.createKey',
  recent(15),
  (ctx, input: ApiKeyCreate): Promise<ApiKeyCreated> => insertKey(ctx, input),
  { secret: ['token'] },
)

/** Runs in the caller's transaction. The caller has checked that the person is present. */
export async function insertKey(ctx: Ctx, input: ApiKeyCreate): Promise<ApiKeyCreated> {
  checkNames(input.scopes)
  await lockOwnSession(ctx)
  if (input.organizationId) await organizations.get(ctx, { id: input.organizationId })
  await requireBelowLimit(ctx, apiKeys)
  const token = newSecret('api_key')
  const [key] = await ctx.db
    .insert(apiKeys)
    .values({
      userId: userIdOf(ctx.actor),
      name: input.name.trim(),
      scopes: input.scopes ?? ['write'],
      organizationId: input.organizationId,
      ...shown(token),
      hash: hashSecret(token),
      expiresAt: expiry(ctx.now, input.expiresInDays ?? DAYS.api_key),
      createdAt: ctx.now,
      updatedAt: ctx.now,
    })
    .returning(visibleKey)
  if (!key) throw new Error('insert returned nothing')
  ctx.emit(apiKeyCreated, {
    subjectId: key.id,
    userId: userIdOf(ctx.actor),
    data: { name: key.name, scopes: key.scopes },
  })
  return { ...key, token }
}

export const revokeKey = write(
  'tokens.revokeKey',
  person,
  async (ctx, { id }: { id: string }): Promise<{ id: string; deleted: true }> => {
    const userId = userIdOf(ctx.actor)
    const [revoked] = await ctx.db
      .update(apiKeys)
      .set({
        revokedAt: sql`coalesce(${apiKeys.revokedAt}, ${ctx.now})`,
        updatedAt: ctx.now,
        version: sql`${apiKeys.version} + 1`,
      })
      .where(and(eq(apiKeys.id, id), eq(apiKeys.userId, userId)))
      .returning({ name: apiKeys.name })
    if (!revoked) throw notFound('api_key', id)
    ctx.emit(apiKeyRevoked, { subjectId: id, userId, data: { name: revoked.name } })
    return { id, deleted: true }
  },
  { destructive: true, idempotent: true },
)

// ---- MCP tokens

export const listTokens = read(
  'tokens.listTokens',
  account('tokens:read'),
  async (ctx, query: TokenQuery): Promise<McpTokenPage> => {
    const page = keyset({ createdAt: mcpTokens.createdAt, name: mcpTokens.name }, mcpTokens.id, query, {
      sort: 'createdAt',
    })
    const own = and(eq(mcpTokens.userId, userIdOf(ctx.actor)), isActive(ctx, mcpTokens, query.active))
    const rows = await ctx.db
      .select(visibleToken)
      .from(mcpTokens)
      .where(page.where(own))
      .orderBy(...page.orderBy)
      .limit(page.limit)
    return page.page(rows, query.total ? await ctx.db.$count(mcpTokens, own) : undefined)
  },
)

export const createToken = write(
  'tokens.createToken',
  person,
  async (ctx, input: McpTokenCreate): Promise<McpTokenCreated> => {
    checkNames(input.scopes, input.toolsets)
    const days = input.expiresInDays ?? DAYS[input.kind ?? 'live']
    if (days > MOST_DAYS_BY_DEVICE)
      refuse(deviceRefusal(ctx.actor, `Creating a token for more than ${MOST_DAYS_BY_DEVICE} days`))
    await lockOwnSession(ctx)
    await organizations.get(ctx, { id: input.organizationId })
    const kind = input.kind ?? 'live'
    const organizationId =
      kind === 'test' ? await organizations.sandboxOf(ctx, input.organizationId) : input.organizationId
    if (input.projectId) await projects.inOrganization(ctx, input.projectId, organizationId)
    await requireBelowLimit(ctx, mcpTokens)
    const [userId, name] = [userIdOf(ctx.actor), input.name.trim()]
    const agentId = input.agentId
      ? (await findOwnAgent(ctx, input.organizationId, input.agentId)).id
      : await agentOfToken(ctx, { organizationId, userId, token: name, client: input.client?.trim() })
    const token = newSecret(kind === 'live' ? 'mcp_live' : 'mcp_test')
    const [made] = await ctx.db
      .insert(mcpTokens)
      .values({
        userId,
        organizationId,
        kind,
        name,
        scopes: input.scopes ?? ['write'],
        toolsets: input.toolsets ?? [],
        projectId: input.projectId,
        agentId,
        ...shown(token),
        hash: hashSecret(token),
        expiresAt: expiry(ctx.now, days),
        createdAt: ctx.now,
        updatedAt: ctx.now,
      })
      .returning(visibleToken)
    if (!made) throw new Error('insert returned nothing')
    ctx.emit(mcpTokenCreated, {
      subjectId: made.id,
      userId,
      data: { name: made.name, kind, scopes: made.scopes },
    })
    return { ...made, token }
  },
  { secret: ['token'] },
)

export const revokeToken = write(
  'tokens.revokeToken',
  person,
  async (ctx, { id }: { id: string }): Promise<{ id: string; deleted: true }> => {
    const userId = userIdOf(ctx.actor)
    const [revoked] = await ctx.db
      .update(mcpTokens)
      .set({
        revokedAt: sql`coalesce(${mcpTokens.revokedAt}, ${ctx.now})`,
        updatedAt: ctx.now,
        version: sql`${mcpTokens.version} + 1`,
      })
      .where(and(eq(mcpTokens.id, id), eq(mcpTokens.userId, userId)))
      .returning({ name: mcpTokens.name, agentId: mcpTokens.agentId })
    if (!revoked) throw notFound('mcp_token', id)
    await stopWithoutToken(ctx, [revoked.agentId])
    ctx.emit(mcpTokenRevoked, { subjectId: id, userId, data: { name: revoked.name } })
    return { id, deleted: true }
  },
  { destructive: true, idempotent: true },
)
