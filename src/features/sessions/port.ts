import { desc, eq, type SQL } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { currentOrganization, nobody, organizationsOf, userIdOf } from '../../auth/actor.ts'
import { anyOf, idList } from '../../db/columns.ts'
import { and } from '../../db/conditions.ts'
import { notFound } from '../../errors.ts'
import { byReference, idStarts } from '../../records/rows.ts'
import { projectMoved } from '../projects/hooks.ts'
import { type SessionRef, type WorkSession, workSession } from '../projects/work-session.ts'
import { sessions } from './table.ts'

export const moveSessions = projectMoved.handle(async (ctx, { projectId, organizationId }) => {
  await ctx.db.update(sessions).set({ organizationId }).where(eq(sessions.projectId, projectId))
})

/** Notes on the sessions of a connection that it closed, or that it is open again. Changes no version. */
export async function markSessions(
  { actor, db, now }: Ctx,
  { connection, isOpen }: { connection: string; isOpen: boolean },
): Promise<void> {
  await db
    .update(sessions)
    .set({ connectionClosedAt: isOpen ? null : now })
    .where(
      and(
        eq(sessions.userId, actor.userId ?? nobody),
        eq(sessions.credentialId, actor.credentialId ?? nobody),
        eq(sessions.connection, connection),
      ),
    )
}

/** Finds sessions for the features below this one. Only its user sees a session. */
export const sessionPort = workSession.handle((ctx, which) =>
  'active' in which ? activeOf(ctx, which.active) : named(ctx, which),
)

const select = (ctx: Ctx, where: SQL | undefined): Promise<WorkSession[]> =>
  ctx.db
    .select({ id: sessions.id, organizationId: sessions.organizationId, projectId: sessions.projectId })
    .from(sessions)
    .where(and(eq(sessions.userId, userIdOf(ctx.actor)), where))
    .orderBy(desc(sessions.updatedAt), desc(sessions.id))
    .limit(2)

async function activeOf(ctx: Ctx, whose: 'token' | 'agent'): Promise<WorkSession | undefined> {
  const { agent, credentialId } = ctx.actor
  if (whose === 'agent' && !agent) return undefined
  const [found] = await select(
    ctx,
    and(
      eq(sessions.organizationId, currentOrganization(ctx.actor)),
      eq(sessions.status, 'active'),
      whose === 'token' ? eq(sessions.credentialId, credentialId ?? nobody) : undefined,
      agent && eq(sessions.agentId, agent.id),
    ),
  )
  return found
}

async function named(ctx: Ctx, { ref, team }: Extract<SessionRef, { ref: string }>): Promise<WorkSession> {
  const there =
    team === 'any'
      ? anyOf(sessions.organizationId, idList(organizationsOf(ctx.actor)))
      : eq(sessions.organizationId, currentOrganization(ctx.actor))
  const found = await byReference(ref, {
    id: (id) => select(ctx, and(eq(sessions.id, id), there)),
    name: async () => [],
    prefix: (prefix) => select(ctx, and(idStarts(sessions.id, prefix), there)),
  })
  if (!found) throw notFound('session', ref)
  return found
}
