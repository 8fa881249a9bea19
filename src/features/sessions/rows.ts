import { desc, eq, isNotNull, isNull, ne, or, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { type Actor, currentOrganization, nobody, userIdOf } from '../../auth/actor.ts'
import { rightsOf } from '../../auth/rights.ts'
import { and, not } from '../../db/conditions.ts'
import { AppError, notFound, type WayOut } from '../../errors.ts'
import { events } from '../../events/table.ts'
import { byReference, idStarts } from '../../records/rows.ts'
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
export const listed = {
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
export const visible = {
  ...listed,
  context: sessions.context,
  checkpoint: sessions.checkpoint,
  summary: sessions.summary,
}
/** Columns for the actions, including those that responses leave out. */
export const stored = {
  ...visible,
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
export const own = (ctx: Ctx): SQL =>
  and(
    eq(sessions.userId, userIdOf(ctx.actor)),
    eq(sessions.organizationId, currentOrganization(ctx.actor)),
    isWithin(ctx.actor),
  )

/** SQL condition: the session belongs to a project that the credential is limited to. Undefined without a limit. */
export const isWithin = (actor: Actor): SQL | undefined =>
  actor.projects && inVisibleProject(sessions.projectId, rightsOf(actor))
/**
 * Sessions of the caller's token and, if an agent calls, of that agent: two workers of one person do not share
 * sessions. Windows that share a token also differ by their connection.
 */
export const mine = ({ actor }: Ctx): SQL | undefined =>
  and(eq(sessions.credentialId, actor.credentialId ?? nobody), actor.agent && eq(sessions.agentId, actor.agent.id))

export const isHere = ({ connection }: Ctx): SQL =>
  sql`${sessions.connection} is not distinct from ${connection ?? null}::text`

/** SQL condition: the session is active on another connection that is not known to have closed. */
const isElsewhere = (ctx: Ctx): SQL =>
  and(
    eq(sessions.status, 'active'),
    isNotNull(sessions.connection),
    not(isHere(ctx)),
    isNull(sessions.connectionClosedAt),
  )

/** In a write, locks the row until the transaction ends, so that concurrent writes run one after another. */
function select(ctx: Ctx, match: SQL | undefined) {
  const found = ctx.db
    .select(stored)
    .from(sessions)
    .where(and(match, own(ctx)))
    .$dynamic()
  return ctx.unit ? found.for('update') : found
}

export async function find(ctx: Ctx, ref: string): Promise<Row> {
  const found = await byReference<Row>(ref, {
    id: (id) => select(ctx, eq(sessions.id, id)),
    name: async () => [],
    prefix: (prefix) => select(ctx, idStarts(sessions.id, prefix)).limit(2),
  })
  if (!found) throw notFound('session', ref)
  return found
}

/** Returns the caller's open session: the active one, or the last paused one. Ignores those of other windows. */
export async function running(ctx: Ctx): Promise<Row | undefined> {
  const [found] = await select(ctx, and(mine(ctx), ne(sessions.status, 'ended'), not(isElsewhere(ctx))))
    .orderBy(desc(isHere(ctx)), desc(eq(sessions.status, 'active')), desc(sessions.updatedAt), desc(sessions.id))
    .limit(1)
  return found
}

/**
 * Returns the caller's last session: of this token before those of others, open ones before ended ones, the one of this
 * connection before the newest. An agent may also resume a session that its person started without an agent.
 */
export async function last(ctx: Ctx): Promise<Row | undefined> {
  const { agent } = ctx.actor
  const whose = agent && or(eq(sessions.agentId, agent.id), isNull(sessions.agentId))
  const [found] = await select(ctx, whose)
    .orderBy(
      desc(sql`coalesce(${mine(ctx)}, false)`),
      desc(isNotNull(sessions.agentId)),
      desc(ne(sessions.status, 'ended')),
      ...(ctx.connection === undefined ? [] : [desc(and(isHere(ctx), ne(sessions.status, 'ended')))]),
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
async function requireNoneElsewhere(ctx: Ctx): Promise<void> {
  const [other] = await select(ctx, and(mine(ctx), isElsewhere(ctx)))
    .orderBy(desc(sessions.updatedAt))
    .limit(1)
  if (other)
    throw new AppError(
      'conflict',
      `Session ${other.id} is in use on another connection of this token. Name it to resume it, or start another.`,
      { next: [resumeSession, startSession] },
    )
}

export async function namedOrRunning(ctx: Ctx, ref: string | undefined): Promise<Row> {
  const found = ref === undefined ? await running(ctx) : await find(ctx, ref)
  if (!found) await requireNoneElsewhere(ctx)
  if (!found)
    throw new AppError('not_found', 'You have no active session on this connection. Start or resume one.', {
      next: [startSession, resumeSession],
    })
  return found
}

export const lastSeq = async (ctx: Ctx): Promise<number> =>
  (await ctx.db.select({ seq: events.seq }).from(events).orderBy(desc(events.seq)).limit(1))[0]?.seq ?? 0

export async function change(ctx: Ctx, { id }: Row, set: Partial<typeof sessions.$inferInsert>): Promise<Row> {
  const [row] = await ctx.db
    .update(sessions)
    .set({ ...set, updatedAt: ctx.now, version: sql`${sessions.version} + 1` })
    .where(eq(sessions.id, id))
    .returning(stored)
  return row as Row
}

/** The event shows the team that someone works, but not on what: goals and checkpoint stay private. */
export const about = (session: Row) => ({
  subjectId: session.id,
  organizationId: session.organizationId,
  projectId: session.projectId,
  data: { status: session.status, version: session.version },
})
