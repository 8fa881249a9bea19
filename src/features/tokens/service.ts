import { eq, isNull, sql } from 'drizzle-orm'
import { type Ctx, read, write } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { account, byRow, deviceRefusal, person, throwIfRefused } from '../../auth/policy.ts'
import { hashBearer, maskedSecret, newSecret } from '../../auth/secrets.ts'
import { and } from '../../db/conditions.ts'
import { notFound } from '../../errors.ts'
import { keyset } from '../../records/page.ts'
import { findOrCreateTokenAgent } from '../agents/token-agents.ts'
import { findOwnAgent } from '../agents/users-and-agents.ts'
import * as organizations from '../organizations/service.ts'
import { isAgentUsed, stopWithoutToken } from './agents.ts'
import {
  checkScopesAndToolsets,
  expiryAfter,
  isActive,
  lockOwnSession,
  projectsOf,
  requireBelowLimit,
} from './credentials.ts'
import { mcpTokenCreated, mcpTokenRevoked } from './events.ts'
import { tokenColumns, tokenPermissions, toToken } from './rows.ts'
import type {
  McpTokenCreate,
  McpTokenCreated,
  McpTokenDetail,
  McpTokenPage,
  McpTokenQuery,
  ToolsetList,
} from './schema.ts'
import { mcpTokens } from './table.ts'

/** Default lifetime in days, so that a forgotten token expires. */
const DAYS = { live: 90, test: 30 }
/** A device that was signed in by a code may create tokens for its agents, but none that outlives every session. */
const MOST_DAYS_BY_DEVICE = 90

/** SQL condition: tokens that the caller created. Tokens of programs that signed in are shown with their permission. */
const isOwn = (ctx: Ctx) => and(eq(mcpTokens.userId, userIdOf(ctx.actor)), isNull(mcpTokens.grantId))

export const listTokens = read(
  'tokens.listTokens',
  account('tokens:read'),
  async (ctx, query: McpTokenQuery): Promise<McpTokenPage> => {
    const page = keyset({ createdAt: mcpTokens.createdAt, name: mcpTokens.name }, mcpTokens.id, query, {
      sort: 'createdAt',
    })
    const own = and(
      isOwn(ctx),
      isActive(ctx, mcpTokens, query.active),
      query.agentId === undefined ? undefined : eq(mcpTokens.agentId, query.agentId),
      query.organizationId === undefined ? undefined : eq(mcpTokens.organizationId, query.organizationId),
    )
    const rows = await ctx.db
      .select(tokenColumns)
      .from(mcpTokens)
      .where(page.where(own))
      .orderBy(...page.orderBy)
      .limit(page.limit)
    const found = page.page(rows, query.total ? await ctx.db.$count(mcpTokens, own) : undefined)
    return { ...found, items: found.items.map((row) => toToken(ctx, row)), can: tokenPermissions(ctx) }
  },
)

export const getToken = read(
  'tokens.getToken',
  account('tokens:read'),
  async (ctx, { id }: { id: string }): Promise<McpTokenDetail> => {
    const own = and(eq(mcpTokens.id, id), isOwn(ctx))
    const [row] = await ctx.db.select(tokenColumns).from(mcpTokens).where(own)
    if (!row) throw notFound('mcp_token', id)
    return { ...toToken(ctx, row), can: { revoke: tokenPermissions(ctx).revoke } }
  },
)

/** Returns the toolsets, and the tokens that each costs a model at the beginning of every session. */
export const listToolsets = read(
  'tokens.listToolsets',
  byRow('tokens:read'),
  async ({ app: { toolCosts } }, _: Record<string, never>): Promise<ToolsetList> => ({
    encoding: 'o200k',
    all: toolCosts.selected([]),
    items: toolCosts.toolsets(),
  }),
)

export const createToken = write(
  'tokens.createToken',
  person,
  async (ctx, input: McpTokenCreate): Promise<McpTokenCreated> => {
    checkScopesAndToolsets(ctx, input.scopes, input.toolsets)
    const days = input.expiresInDays ?? DAYS[input.kind ?? 'live']
    if (days > MOST_DAYS_BY_DEVICE)
      throwIfRefused(deviceRefusal(ctx.actor, `Creating a token for more than ${MOST_DAYS_BY_DEVICE} days`, '/tokens'))
    await lockOwnSession(ctx)
    await organizations.get(ctx, { id: input.organizationId })
    const kind = input.kind ?? 'live'
    const organizationId =
      kind === 'test' ? await organizations.sandboxOf(ctx, input.organizationId) : input.organizationId
    const { projects, projectId } = await projectsOf(ctx, { ...input, organizationId })
    await requireBelowLimit(ctx, 'valid MCP tokens', mcpTokens, isNull(mcpTokens.grantId))
    const [userId, name] = [userIdOf(ctx.actor), input.name.trim()]
    const agentId = input.agentId
      ? (await findOwnAgent(ctx, input.organizationId, input.agentId)).id
      : await findOrCreateTokenAgent(ctx, {
          organizationId,
          userId,
          token: name,
          client: input.client?.trim(),
          isUsed: (agentId) => isAgentUsed(ctx, agentId),
        })
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
        projects,
        projectId,
        agentId,
        ...maskedSecret(token),
        hash: hashBearer(token, projects),
        expiresAt: expiryAfter(ctx.now, days),
        createdAt: ctx.now,
        updatedAt: ctx.now,
      })
      .returning(tokenColumns)
    if (!made) throw new Error('insert returned nothing')
    ctx.emit(mcpTokenCreated, {
      subjectId: made.id,
      userId,
      data: { name: made.name, kind, scopes: made.scopes, projects },
    })
    return { ...toToken(ctx, made), token }
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
      .where(and(eq(mcpTokens.id, id), isOwn(ctx)))
      .returning({ name: mcpTokens.name, agentId: mcpTokens.agentId })
    if (!revoked) throw notFound('mcp_token', id)
    await stopWithoutToken(ctx, [revoked.agentId])
    ctx.emit(mcpTokenRevoked, { subjectId: id, userId, data: { name: revoked.name } })
    return { id, deleted: true }
  },
  { destructive: true, idempotent: true },
)
