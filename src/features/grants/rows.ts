import { eq, gt, isNull, type Placeholder, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { permissionOf, person, ruleRefusal } from '../../auth/policy.ts'
import { anyOf, idList } from '../../db/columns.ts'
import { and } from '../../db/conditions.ts'
import { agents } from '../agents/table.ts'
import { stopWithoutToken } from '../tokens/agents.ts'
import { mcpTokens } from '../tokens/table.ts'
import { users } from '../users/table.ts'
import { grantRevoked } from './events.ts'
import type { Grant } from './schema.ts'
import { oauthGrants as table } from './table.ts'

/** A grant ends if its program does not renew it for this long. */
export const IDLE_DAYS = 30

export const grantColumns = {
  id: table.id,
  createdAt: table.createdAt,
  updatedAt: table.updatedAt,
  version: table.version,
  name: table.clientName,
  host: table.clientHost,
  userId: table.userId,
  userName: sql<string>`(select ${users.name} from ${users} where ${users.id} = ${table.userId})`,
  organizationId: table.organizationId,
  agentId: table.agentId,
  agentName: sql<string | null>`(select ${agents.name} from ${agents} where ${agents.id} = ${table.agentId})`,
  projects: table.projects,
  projectId: table.projectId,
  scopes: table.scopes,
  toolsets: table.toolsets,
  lastUsedAt: table.lastUsedAt,
  useCount: table.useCount,
  idleUntil: table.idleUntil,
  expiresAt: table.expiresAt,
  revokedAt: table.revokedAt,
}

type Row = Omit<Grant, 'user' | 'can' | 'defaultProject'> & {
  userId: string
  userName: string
  idleUntil: string
}

/** Adds uses that are not written yet, and what the caller may do. */
export function toGrant({ app, actor }: Ctx, { userId, userName, idleUntil, ...row }: Row): Grant {
  const recent = app.auth.unwrittenUses(row.id)
  const refusal = ruleRefusal(actor, person, 'Ending the access of a program', app.clock)
  return {
    ...row,
    defaultProject: row.projectId,
    ...(recent && { lastUsedAt: recent.at, useCount: row.useCount + recent.count }),
    expiresAt: idleUntil < row.expiresAt ? idleUntil : row.expiresAt,
    user: { id: userId, name: userName },
    can: { revoke: permissionOf(refusal) },
  }
}

/** SQL condition: grants that a program can still use. */
export const isLiveGrant = ({ now }: { now: string | Placeholder }): SQL =>
  and(isNull(table.revokedAt), gt(table.expiresAt, now), gt(table.idleUntil, now))

export const isOwnGrant = (ctx: Ctx): SQL => eq(table.userId, userIdOf(ctx.actor))

/** Ends grants and their tokens in the caller's transaction. Returns their number. */
export async function endGrants(ctx: Ctx, where: SQL, reason: string): Promise<number> {
  const ended = await ctx.db
    .update(table)
    .set({ revokedAt: ctx.now, updatedAt: ctx.now, version: sql`${table.version} + 1` })
    .where(and(where, isNull(table.revokedAt)))
    .returning({
      id: table.id,
      userId: table.userId,
      organizationId: table.organizationId,
      agentId: table.agentId,
      client: table.clientName,
    })
  if (ended.length === 0) return 0
  await ctx.db
    .update(mcpTokens)
    .set({ revokedAt: ctx.now })
    .where(and(anyOf(mcpTokens.grantId, idList(ended.map(({ id }) => id))), isNull(mcpTokens.revokedAt)))
  for (const { id, userId, organizationId, client } of ended)
    ctx.emit(grantRevoked, { subjectId: id, userId, organizationId, data: { client, reason } })
  await stopWithoutToken(
    ctx,
    ended.map(({ agentId }) => agentId),
  )
  return ended.length
}
