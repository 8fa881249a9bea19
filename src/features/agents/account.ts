import { and, eq, inArray, isNotNull, isNull, or, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { emitChangedRows } from '../../records/synced-changes.ts'
import { accountRemoved } from '../accounts/hooks.ts'
import { onMemberLeft } from '../organizations/hooks.ts'
import { organizations } from '../organizations/table.ts'
import { onAgentStopped } from './hooks.ts'
import { agents } from './table.ts'

/** Deletes the user's personal agents and archives the team agents of the user's tokens. Other team agents stay. */
export const removePersonalAgents = accountRemoved.handle(async (ctx, { userId }) => {
  await ctx.db.delete(agents).where(and(eq(agents.createdById, userId), isNull(agents.organizationId)))
  await archiveAgents(ctx, userId, isNotNull(agents.organizationId))
})

/** Archives the agents of the tokens that a former member had in the team and in its sandbox. */
export const archiveAgentsOfMember = onMemberLeft.handle(async (ctx, { organizationId, userId }) => {
  const places = ctx.db
    .select({ id: organizations.id })
    .from(organizations)
    .where(or(eq(organizations.id, organizationId), eq(organizations.sandboxOf, organizationId)))
  await archiveAgents(ctx, userId, inArray(agents.organizationId, places))
})

async function archiveAgents(ctx: Ctx, userId: string, where: SQL): Promise<void> {
  const retired = await ctx.db
    .update(agents)
    .set({ status: 'archived', updatedAt: ctx.now, version: sql`${agents.version} + 1` })
    .where(and(eq(agents.forId, userId), isNull(agents.deletedAt), where))
    .returning({ id: agents.id, organizationId: agents.organizationId })
  emitChangedRows(ctx, 'agent', retired)
  for (const { id } of retired) await onAgentStopped.call(ctx, { agentId: id })
}
