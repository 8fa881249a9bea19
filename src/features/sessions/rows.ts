import { desc, eq, isNotNull, isNull, ne, or, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { type Actor, currentOrganization, NO_USER_ID, userIdOf } from '../../auth/actor.ts'
import { rightsOf } from '../../auth/rights.ts'
import { and, not } from '../../db/conditions.ts'
import { AppError, notFound, type WayOut } from '../../errors.ts'
import { events } from '../../events/table.ts'
import { findByReference, idStartsWith } from '../../records/rows.ts'
import { isStreamOpen } from '../connections/streams.ts'
import { inVisibleProject } from '../projects/visible.ts'
import type { Session } from './schema.ts'
import { sessions } from './table.ts'

export const startSession: WayOut = {
  tool: 'create_session',
  route: 'POST /api/sessions',
  command: 'tutti sessions start',
}
export const resumeSession: WayOut = {
  tool: 'resume_session',
  route: 'POST /api/sessions/{id}/resume',
  command: 'tutti sessions resume',
}

/** Columns of list items. */
export const sessionItemColumns = {
  id: sessions.id,
  createdAt: sessions.createdAt,
  updatedAt: sessions.updatedAt,
  version: sessions.version,
  organizationId: sessions.organizationId,
  userId: sessions.userId,
  agentId: sessions.agentId,
  projectId: sessions.projectId,
  taskId: sessions.taskId,
  status: sessions.status,
  goals: sessions.goals,
  checkpointAt: sessions.checkpointAt,
  startedAt: sessions.startedAt,
  endedAt: sessions.endedAt,
}
export const sessionColumns = {
  ...sessionItemColumns,
  context: sessions.context,
  checkpoint: sessions.checkpoint,
  summary: sessions.summary,
}
/** Columns for the actions, including those that responses leave out. */
export const sessionRowColumns = {
  ...sessionColumns,
  credentialId: sessions.credentialId,
  connection: sessions.connection,
  seenSeq: sessions.seenSeq,
}
interface Hidden {
  credentialId: string | null
  connection: string | null
  seenSeq: number
}
export type Row = Session & Hidden
export const toSession = ({ credentialId: _, connection: __, seenSeq: ___, ...session }: Row): Session => session

/** Only its user sees a session: it contains their thoughts. Knowledge for others goes to memory when it ends. */
export const isOwnSession = (ctx: Ctx): SQL =>
  and(
    eq(sessions.userId, userIdOf(ctx.actor)),
    eq(sessions.organizationId, currentOrganization(ctx.actor)),
    isInLimitedProjects(ctx.actor),
  )

/** SQL condition: the session belongs to a project that the credential is limited to. Undefined without a limit. */
export const isInLimitedProjects = (actor: Actor): SQL | undefined =>
  actor.projects && inVisibleProject(sessions.projectId, rightsOf(actor))
/**
 * Sessions of the caller's token and, if an agent calls, of that agent: two workers of one person do not share
 * sessions. Windows that share a token also differ by their connection.
 */
export const isSessionOfToken = ({ actor }: Ctx): SQL | undefined =>
  and(eq(sessions.credentialId, actor.credentialId ?? NO_USER_ID), actor.agent && eq(sessions.agentId, actor.agent.id))

export const isOnThisConnection = ({ connection }: Ctx): SQL =>
  sql`${sessions.connection} is not distinct from ${connection ?? null}::text`

/** SQL condition: the session is active on another connection that is not known to have closed. */
const isOnOtherConnection = (ctx: Ctx): SQL =>
  and(
    eq(sessions.status, 'active'),
    isNotNull(sessions.connection),
    not(isOnThisConnection(ctx)),
    isNull(sessions.connectionClosedAt),
  )

/** In a write, locks the row until the transaction ends, so that concurrent writes run one after another. */
function selectSessions(ctx: Ctx, match: SQL | undefined) {
  const found = ctx.db
    .select(sessionRowColumns)
    .from(sessions)
    .where(and(match, isOwnSession(ctx)))
    .$dynamic()
  return ctx.unit ? found.for('update') : found
}

export async function findWorkSession(ctx: Ctx, ref: string): Promise<Row> {
  const found = await findByReference<Row>(ref, {
    id: (id) => selectSessions(ctx, eq(sessions.id, id)),
    name: async () => [],
    prefix: (prefix) => selectSessions(ctx, idStartsWith(sessions.id, prefix)).limit(2),
  })
  if (!found) throw notFound('session', ref)
  return found
}

/** Returns the caller's open session: the active one, or the last paused one. Ignores those of other windows. */
export async function findOpenSession(ctx: Ctx): Promise<Row | undefined> {
  const [found] = await selectSessions(
    ctx,
    and(isSessionOfToken(ctx), ne(sessions.status, 'ended'), not(isOnOtherConnection(ctx))),
  )
    .orderBy(
      desc(isOnThisConnection(ctx)),
      desc(eq(sessions.status, 'active')),
      desc(sessions.updatedAt),
      desc(sessions.id),
    )
    .limit(1)
  return found
}

/**
 * Returns the caller's last session: of this token before those of others, open ones before ended ones, the one of this
 * connection before the newest. An agent may also resume a session that its person started without an agent.
 */
export async function findLastSession(ctx: Ctx): Promise<Row | undefined> {
  const { agent } = ctx.actor
  const whose = agent && or(eq(sessions.agentId, agent.id), isNull(sessions.agentId))
  const [found] = await selectSessions(ctx, whose)
    .orderBy(
      desc(sql`coalesce(${isSessionOfToken(ctx)}, false)`),
      desc(isNotNull(sessions.agentId)),
      desc(ne(sessions.status, 'ended')),
      ...(ctx.connection === undefined ? [] : [desc(and(isOnThisConnection(ctx), ne(sessions.status, 'ended')))]),
      desc(sessions.updatedAt),
      desc(eq(sessions.status, 'active')),
      desc(sessions.id),
    )
    .limit(1)
  return found
}

/** Throws if another connection of the caller's token works in the session and its stream is open. */
export async function requireNotOpenElsewhere(ctx: Ctx, { id, status, credentialId, connection }: Row): Promise<void> {
  if (status !== 'active' || connection === null || connection === (ctx.connection ?? null)) return
  if (credentialId !== ctx.actor.credentialId) return
  const [row] = await ctx.db
    .select({ isOpen: isStreamOpen(sessions.credentialId, sessions.connection) })
    .from(sessions)
    .where(eq(sessions.id, id))
  if (row?.isOpen)
    throw new AppError(
      'conflict',
      `Session ${id} is in use on another open connection of this token. Close it first, or start a session.`,
      { next: [startSession] },
    )
}

/** Throws if a session of the caller's token is in use on another connection: the caller must name the one it means. */
async function requireNoOtherActive(ctx: Ctx): Promise<void> {
  const [other] = await selectSessions(ctx, and(isSessionOfToken(ctx), isOnOtherConnection(ctx)))
    .orderBy(desc(sessions.updatedAt))
    .limit(1)
  if (other)
    throw new AppError(
      'conflict',
      `Session ${other.id} is in use on another connection of this token. Name it to resume it, or start another.`,
      { next: [resumeSession, startSession] },
    )
}

export async function findNamedOrOpen(ctx: Ctx, ref: string | undefined): Promise<Row> {
  const found = ref === undefined ? await findOpenSession(ctx) : await findWorkSession(ctx, ref)
  if (!found) await requireNoOtherActive(ctx)
  if (!found)
    throw new AppError('not_found', 'You have no active session on this connection. Start or resume one.', {
      next: [startSession, resumeSession],
    })
  return found
}

export const lastEventSeq = async (ctx: Ctx): Promise<number> =>
  (await ctx.db.select({ seq: events.seq }).from(events).orderBy(desc(events.seq)).limit(1))[0]?.seq ?? 0

export async function changeSession(ctx: Ctx, { id }: Row, set: Partial<typeof sessions.$inferInsert>): Promise<Row> {
  const [row] = await ctx.db
    .update(sessions)
    .set({ ...set, updatedAt: ctx.now, version: sql`${sessions.version} + 1` })
    .where(eq(sessions.id, id))
    .returning(sessionRowColumns)
  return row as Row
}

/** The event shows the team that someone works, but not on what: goals and checkpoint stay private. */
export const sessionEvent = (session: Row) => ({
  subjectId: session.id,
  organizationId: session.organizationId,
  projectId: session.projectId,
  data: { status: session.status, version: session.version },
})
