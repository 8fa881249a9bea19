import { and, eq, gt, isNotNull, isNull, lte, or, type SQL } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import type { Ctx } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { AppError, invalid } from '../../errors.ts'
import { lockSession } from '../accounts/sign-in-methods.ts'
import * as projects from '../projects/rows.ts'
import type { apiKeys, mcpTokens } from './table.ts'

// The common parts of API keys and MCP tokens.

/** How many of each a user may have. */
const MOST = 100

export const expiryAfter = (now: string, days: number): string =>
  new Date(Date.parse(now) + days * 86_400_000).toISOString()

export async function requireBelowLimit(
  ctx: Ctx,
  what: string,
  table: PgTable & { userId: PgColumn; revokedAt: PgColumn; expiresAt: PgColumn },
  counted?: SQL,
): Promise<void> {
  const valid = and(
    counted,
    eq(table.userId, userIdOf(ctx.actor)),
    isNull(table.revokedAt),
    gt(table.expiresAt, ctx.now),
  )
  if ((await ctx.db.$count(table, valid)) >= MOST)
    throw new AppError('conflict', `You already have ${MOST} ${what}. Revoke some first.`)
}

/** Locks the session, so that a concurrent revocation of the user's credentials also revokes the new one. */
export const lockOwnSession = async (ctx: Ctx): Promise<unknown> =>
  ctx.actor.credentialId && lockSession(ctx, ctx.actor.credentialId)

/** Throws for unknown scopes and toolsets: a misspelt one would create a credential without access. */
export function checkScopesAndToolsets(
  { app: { grantable } }: Ctx,
  scopes: readonly string[] = [],
  toolsets: readonly string[] = [],
): void {
  const scope = scopes.find((s) => s.includes(':') && !grantable.resources.has(s.split(':')[0] as string))
  if (scope)
    throw invalid(
      '/scopes',
      `There is no scope ${scope}. Use read, write, or one of these with :read or :write: ` +
        `${[...grantable.resources].sort().join(', ')}.`,
    )
  const toolset = toolsets.find((t) => !grantable.toolsets.has(t))
  if (toolset)
    throw invalid('/toolsets', `There is no toolset ${toolset}. Use one of: ${[...grantable.toolsets].join(', ')}.`)
}

/** SQL condition for valid credentials, or for revoked and expired ones. */
export const isActive = ({ now }: Ctx, table: typeof apiKeys | typeof mcpTokens, active: boolean | undefined) => {
  if (active === undefined) return undefined
  const { revokedAt, expiresAt } = table
  return active ? and(isNull(revokedAt), gt(expiresAt, now)) : or(isNotNull(revokedAt), lte(expiresAt, now))
}

interface Place {
  organizationId: string
  projects?: readonly string[] | null
  defaultProject?: string | null
  /** The former name of `defaultProject`. */
  projectId?: string | null
}

/** Checks the projects of a new credential, which its creator must see. Returns its limit and its default project. */
export async function projectsOf(
  ctx: Ctx,
  { organizationId, projects: limit = null, defaultProject, projectId }: Place,
): Promise<{ projects: string[] | null; projectId: string | null }> {
  const named = [...(limit ?? []), defaultProject, projectId].filter((id) => typeof id === 'string')
  for (const id of new Set(named)) await projects.findInOrganization(ctx, id, organizationId)
  if (defaultProject && projectId && defaultProject !== projectId)
    throw invalid('/projectId', 'projectId is the same as defaultProject. Send one of them.')
  const usual = defaultProject ?? projectId ?? null
  if (usual && limit && !limit.includes(usual))
    throw invalid('/defaultProject', 'The default project must be one of projects.')
  return { projects: limit && [...limit], projectId: usual }
}
