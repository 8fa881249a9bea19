import { and, eq, sql } from 'drizzle-orm'
import { type Ctx, read, write } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { account, person, recent } from '../../auth/policy.ts'
import { hashBearer, maskedSecret, newSecret } from '../../auth/secrets.ts'
import { invalid, notFound } from '../../errors.ts'
import { keyset } from '../../records/page.ts'
import * as organizations from '../organizations/service.ts'
import {
  checkScopesAndToolsets,
  expiryAfter,
  isActive,
  lockOwnSession,
  projectsOf,
  requireBelowLimit,
} from './credentials.ts'
import { apiKeyCreated, apiKeyRevoked } from './events.ts'
import type { ApiKeyCreate, ApiKeyCreated, ApiKeyPage, TokenQuery } from './schema.ts'
import { apiKeys } from './table.ts'

/** Default lifetime in days, so that a forgotten key expires. */
const DAYS = 90

const keyColumns = {
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
  projects: apiKeys.projects,
}
export const listKeys = read(
  'tokens.listKeys',
  account('keys:read'),
  async (ctx, query: TokenQuery): Promise<ApiKeyPage> => {
    const page = keyset({ createdAt: apiKeys.createdAt, name: apiKeys.name }, apiKeys.id, query, { sort: 'createdAt' })
    const own = and(eq(apiKeys.userId, userIdOf(ctx.actor)), isActive(ctx, apiKeys, query.active))
    const rows = await ctx.db
      .select(keyColumns)
      .from(apiKeys)
      .where(page.where(own))
      .orderBy(...page.orderBy)
      .limit(page.limit)
    return page.page(rows, query.total ? await ctx.db.$count(apiKeys, own) : undefined)
  },
)

/** A key can do almost all that its user can, so a stolen session or device must not be enough to create one. */
export const createKey = write(
  'tokens.createKey',
  recent(15),
  (ctx, input: ApiKeyCreate): Promise<ApiKeyCreated> => insertKey(ctx, input),
  { secret: ['token'] },
)

/** Runs in the caller's transaction. The caller has checked that the person confirmed their identity. */
export async function insertKey(ctx: Ctx, input: ApiKeyCreate): Promise<ApiKeyCreated> {
  checkScopesAndToolsets(ctx, input.scopes)
  await lockOwnSession(ctx)
  const { organizationId } = input
  if (organizationId) await organizations.get(ctx, { id: organizationId })
  if (input.projects && !organizationId)
    throw invalid(
      '/organizationId',
      'A key that is limited to projects belongs to one team. Send organizationId.',
      'required',
    )
  const { projects } = organizationId ? await projectsOf(ctx, { ...input, organizationId }) : { projects: null }
  await requireBelowLimit(ctx, 'valid API keys', apiKeys)
  const token = newSecret('api_key')
  const [key] = await ctx.db
    .insert(apiKeys)
    .values({
      userId: userIdOf(ctx.actor),
      name: input.name.trim(),
      scopes: input.scopes ?? ['write'],
      organizationId,
      projects,
      ...maskedSecret(token),
      hash: hashBearer(token, projects),
      expiresAt: expiryAfter(ctx.now, input.expiresInDays ?? DAYS),
      createdAt: ctx.now,
      updatedAt: ctx.now,
    })
    .returning(keyColumns)
  if (!key) throw new Error('insert returned nothing')
  ctx.emit(apiKeyCreated, {
    subjectId: key.id,
    userId: userIdOf(ctx.actor),
    data: { name: key.name, scopes: key.scopes, projects },
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
