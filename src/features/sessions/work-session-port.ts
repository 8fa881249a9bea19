import { desc, eq, isNull, type SQL } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { currentOrganization, membershipsWith, userIdOf } from '../../auth/actor.ts'
import { anyOf, idList } from '../../db/columns.ts'
import { and } from '../../db/conditions.ts'
import { notFound } from '../../errors.ts'
import { findByReference, idStartsWith } from '../../records/rows.ts'
import { type Stream, streamArrays } from '../connections/hooks.ts'
import { projectMoved } from '../projects/hooks.ts'
import { type SessionRef, type WorkSession, workSession } from '../projects/work-session.ts'
import { isInLimitedProjects, isOnThisConnection, isSessionOfToken } from './rows.ts'
import { sessions } from './table.ts'

export const moveSessions = projectMoved.handle(async (ctx, { projectId, organizationId }) => {
  await ctx.db.update(sessions).set({ organizationId }).where(eq(sessions.projectId, projectId))
})

const markClosed = `update sessions set connection_closed_at = $1::timestamptz
  from unnest($2::uuid[], $3::text[]) s (credential_id, connection)
  where sessions.credential_id = s.credential_id and sessions.connection = s.connection
    and sessions.status = 'active'`

/** Marks on the active sessions of these connections that their streams are closed or open. Changes no version. */
export async function markSessionStreams(
  { app, now }: Ctx,
  { streams, isOpen }: { streams: readonly Stream[]; isOpen: boolean },
): Promise<void> {
  if (streams.length > 0) await app.driver.query(markClosed, [isOpen ? null : now, ...streamArrays(streams)])
}

/** Finds sessions for lower features. Only its user sees a session. */
export const sessionPort = workSession.handle((ctx, which) =>
  'ref' in which ? namedSession(ctx, which) : activeSession(ctx, which.active),
)

const selectWorkSessions = (ctx: Ctx, where: SQL | undefined): Promise<WorkSession[]> =>
  ctx.db
    .select({
      id: sessions.id,
      organizationId: sessions.organizationId,
      projectId: sessions.projectId,
      agentId: sessions.agentId,
      credentialId: sessions.credentialId,
    })
    .from(sessions)
    .where(and(eq(sessions.userId, userIdOf(ctx.actor)), isInLimitedProjects(ctx.actor), where))
    .orderBy(desc(sessions.updatedAt), desc(sessions.id))
    .limit(2)

async function activeSession(ctx: Ctx, whose: 'worker' | 'agent'): Promise<WorkSession | undefined> {
  const { agent } = ctx.actor
  if (whose === 'agent' && !agent) return undefined
  const isActive = and(eq(sessions.organizationId, currentOrganization(ctx.actor)), eq(sessions.status, 'active'))
  const [own] = await selectWorkSessions(ctx, and(isActive, isSessionOfToken(ctx), isOnThisConnection(ctx)))
  if (own || whose === 'worker') return own
  const [given] = await selectWorkSessions(
    ctx,
    and(isActive, agent && eq(sessions.agentId, agent.id), isNull(sessions.connection)),
  )
  return given
}

async function namedSession(ctx: Ctx, { ref, team }: Extract<SessionRef, { ref: string }>): Promise<WorkSession> {
  const there =
    team === 'any'
      ? anyOf(sessions.organizationId, idList(membershipsWith(ctx.actor, 'viewer')))
      : eq(sessions.organizationId, currentOrganization(ctx.actor))
  const found = await findByReference(ref, {
    id: (id) => selectWorkSessions(ctx, and(eq(sessions.id, id), there)),
    name: async () => [],
    prefix: (prefix) => selectWorkSessions(ctx, and(idStartsWith(sessions.id, prefix), there)),
  })
  if (!found) throw notFound('session', ref)
  return found
}
