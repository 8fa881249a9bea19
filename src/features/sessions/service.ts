import { eq, ne, sql } from 'drizzle-orm'
import { type Ctx, flow, read, write } from '../../action.ts'
import { currentOrganization, userIdOf } from '../../auth/actor.ts'
import { requireWithinLimit } from '../../auth/limit.ts'
import { member } from '../../auth/policy.ts'
import { newId } from '../../db/columns.ts'
import { and } from '../../db/conditions.ts'
import { AppError, invalid } from '../../errors.ts'
import { keyset } from '../../records/page.ts'
import { agentFilter, findOwnAgent } from '../agents/users-and-agents.ts'
import { defaultProject, findProjectIfVisible, projectFilter } from '../projects/current.ts'
import * as projects from '../projects/rows.ts'
import { findTask } from '../tasks/rows.ts'
import { sinceYesterday, withBrief, writeBrief } from './brief.ts'
import { holdsTasks, mergeCheckpoint, storeWithTasks } from './checkpoints.ts'
import { hasCompletedSince, rememberEnd } from './ending.ts'
import {
  sessionBriefed,
  sessionCheckpointed,
  sessionEnded,
  sessionPaused,
  sessionResumed,
  sessionStarted,
} from './events.ts'
import { DEFAULT_TOKENS } from './pack.ts'
import {
  changeSession,
  findLastSession,
  findNamedOrOpen,
  findWorkSession,
  isOnThisConnection,
  isOwnSession,
  isSessionOfToken,
  lastEventSeq,
  type Row,
  requireNotOpenElsewhere,
  resumeSession,
  sessionEvent,
  sessionItemColumns,
  sessionRowColumns,
  startSession,
  toSession,
} from './rows.ts'
import type {
  Brief,
  Session,
  SessionBrief,
  SessionCheckpoint,
  SessionCreate,
  SessionEnd,
  SessionEnded,
  SessionItem,
  SessionPage,
  SessionQuery,
} from './schema.ts'
import { sessions } from './table.ts'

const orders = { updatedAt: sessions.updatedAt, startedAt: sessions.startedAt }

export const list = read(
  'sessions.list',
  member('sessions:read'),
  async (ctx, query: SessionQuery & { mustExist?: boolean }): Promise<SessionPage> => {
    const page = keyset(orders, sessions.id, query, { sort: 'updatedAt' })
    const agentId = await agentFilter(ctx, query.agentId, query.mustExist)
    const projectId = await projectFilter(ctx, query)
    const filters = and(
      isOwnSession(ctx),
      query.status && eq(sessions.status, query.status),
      query.open === undefined ? undefined : (query.open ? ne : eq)(sessions.status, 'ended'),
      agentId ? eq(sessions.agentId, agentId) : undefined,
      projectId ? eq(sessions.projectId, projectId) : undefined,
    )
    const rows: SessionItem[] = await ctx.db
      .select(sessionItemColumns)
      .from(sessions)
      .where(page.where(filters))
      .orderBy(...page.orderBy)
      .limit(page.limit)
    return page.page(rows, query.total ? await ctx.db.$count(sessions, filters) : undefined)
  },
)

export const get = read(
  'sessions.get',
  member('sessions:read'),
  async (ctx, { ref }: { ref: string }): Promise<Session> => toSession(await findWorkSession(ctx, ref)),
)

export const start = write(
  'sessions.start',
  member('sessions:write'),
  async (ctx, input: SessionCreate): Promise<Row> => {
    const organizationId = currentOrganization(ctx.actor)
    const task = input.taskId ? await findTask(ctx, input.taskId) : undefined
    const named = input.projectId ?? task?.projectId
    const project = named ? await projects.findProject(ctx, named) : await defaultProject(ctx)
    requireWithinLimit(ctx.actor, project?.id, 'Starting a session')
    if (task && task.projectId !== project?.id) throw invalid('/taskId', `${task.key} is not a task of that project.`)
    const agent = input.agentId ? await findOwnAgent(ctx, organizationId, input.agentId) : ctx.actor.agent
    const [session] = await ctx.db
      .insert(sessions)
      .values({
        id: newId(),
        organizationId,
        userId: userIdOf(ctx.actor),
        agentId: agent?.id,
        projectId: project?.id,
        taskId: task?.id,
        status: 'active',
        goals: input.goals ?? [],
        context: input.context,
        startedAt: ctx.now,
        credentialId: ctx.actor.credentialId,
        connection: ctx.connection,
        seenSeq: await lastEventSeq(ctx),
        createdAt: ctx.now,
        updatedAt: ctx.now,
      })
      .returning(sessionRowColumns)
    ctx.emit(sessionStarted, sessionEvent(session as Row))
    await pauseOthers(ctx, session as Row)
    return session as Row
  },
)

/** A worker has one active session at a time. */
async function pauseOthers(ctx: Ctx, { id, agentId }: Row): Promise<void> {
  const paused = await ctx.db
    .update(sessions)
    .set({ status: 'paused', updatedAt: ctx.now, version: sql`${sessions.version} + 1` })
    .where(
      and(
        isOwnSession(ctx),
        isSessionOfToken(ctx),
        isOnThisConnection(ctx),
        ne(sessions.id, id),
        eq(sessions.status, 'active'),
        sql`${sessions.agentId} is not distinct from ${agentId}::uuid`,
      ),
    )
    .returning(sessionRowColumns)
  for (const row of paused) ctx.emit(sessionPaused, sessionEvent(row))
}

/** Records the size and the parts of a brief, so that a replay can show what its worker knew. */
const recordBrief = write(
  'sessions.noteBrief',
  member('sessions:write'),
  async (ctx, { row, brief, budgetTokens = DEFAULT_TOKENS }: RecordedBrief): Promise<void> => {
    const parts = brief.parts.map(({ title, tokens }) => ({ title, tokens }))
    const { data: _, ...session } = sessionEvent(row)
    ctx.emit(sessionBriefed, {
      ...session,
      userId: row.userId,
      data: { tokens: brief.tokens, budget: budgetTokens, parts },
    })
  },
)
interface RecordedBrief {
  row: Row
  brief: Brief
  budgetTokens?: number
}

export const create = flow(
  'sessions.create',
  member('sessions:write'),
  async (ctx, { budgetTokens, ...input }: SessionCreate & { budgetTokens?: number }, keyed): Promise<SessionBrief> => {
    const row = await start(keyed, input)
    const project = await findProjectIfVisible(ctx, row.projectId)
    const brief = await writeBrief(ctx, { row, project, since: sinceYesterday(ctx), tokens: budgetTokens })
    await recordBrief(ctx, { row, brief, budgetTokens })
    return withBrief(toSession(row), brief)
  },
)

export const takeUpSession = write(
  'sessions.takeUp',
  member('sessions:write'),
  async (ctx, { ref }: { ref?: string }): Promise<TakenUpSession> => {
    const found = ref === undefined ? await findLastSession(ctx) : await findWorkSession(ctx, ref)
    if (!found)
      throw new AppError(
        'not_found',
        'You have no session to resume. Start one: its brief shows your claims and recent work.',
        { next: [startSession] },
      )
    await requireNotOpenElsewhere(ctx, found)
    const row = await changeSession(ctx, found, {
      status: 'active',
      endedAt: null,
      agentId: found.agentId ?? ctx.actor.agent?.id ?? null,
      credentialId: ctx.actor.credentialId,
      connection: ctx.connection ?? null,
      connectionClosedAt: null,
    })
    ctx.emit(sessionResumed, sessionEvent(row))
    await pauseOthers(ctx, row)
    const isMoved = found.status === 'active' && found.connection !== row.connection
    return { row, before: found.credentialId, ...(isMoved && { takenOver: TAKEN_OVER }) }
  },
)
interface TakenUpSession extends Pick<SessionBrief, 'takenOver'> {
  row: Row
  /** The credential that worked in the session before. */
  before: string | null
}
const TAKEN_OVER = 'This session was active on another connection, which has closed. It continues here.'

/** The brief shows changes since the last checkpoint, not since the last resume, which may have been interrupted. */
export const resume = flow(
  'sessions.resume',
  member('sessions:write'),
  async (ctx, { ref, budgetTokens }: { ref?: string; budgetTokens?: number }, keyed): Promise<SessionBrief> => {
    const { row, before, takenOver } = await takeUpSession(keyed, { ref })
    const project = await findProjectIfVisible(ctx, row.projectId)
    const brief = await writeBrief(ctx, { row, before, project, tokens: budgetTokens })
    await recordBrief(ctx, { row, brief, budgetTokens })
    return { ...withBrief(toSession(row), brief), ...(takenOver && { takenOver }) }
  },
)

export const checkpoint = write(
  'sessions.checkpoint',
  member('sessions:write'),
  async (ctx, { ref, checkpoint: saved, taskId: named }: SessionCheckpoint & { ref?: string }): Promise<Session> => {
    const before = await findNamedOrOpen(ctx, ref)
    if (before.status === 'ended')
      throw new AppError('conflict', 'This session has ended. Resume it first.', { next: [resumeSession] })
    const taskId = named === undefined ? before.taskId : await taskIn(ctx, before, named)
    const merged = mergeCheckpoint(before.checkpoint, saved)
    const row = await changeSession(ctx, before, {
      checkpoint: merged,
      checkpointAt: ctx.now,
      taskId,
      seenSeq: await lastEventSeq(ctx),
    })
    await storeWithTasks(ctx, row, merged)
    ctx.emit(sessionCheckpointed, sessionEvent(row))
    return toSession(row)
  },
)

async function taskIn(ctx: Ctx, { projectId }: Row, ref: string): Promise<string> {
  const task = await findTask(ctx, ref)
  if (projectId && task.projectId !== projectId)
    throw invalid('/taskId', `${task.key} is not a task of the session's project.`)
  return task.id
}

/** Stores the final state as a memory for the next worker. */
export const end = write(
  'sessions.end',
  member('sessions:write'),
  async (ctx, { ref, summary, checkpoint: saved }: SessionEnd & { ref?: string }): Promise<SessionEnded> => {
    const before = await findNamedOrOpen(ctx, ref)
    if (before.status === 'ended') throw new AppError('conflict', 'This session has already ended.')
    const isDone = !saved?.nextStep && (await hasCompletedSince(ctx, before)) && !(await holdsTasks(ctx, before))
    const row = await changeSession(ctx, before, {
      status: 'ended',
      endedAt: ctx.now,
      ...(summary !== undefined && { summary }),
      ...(saved && { checkpoint: mergeCheckpoint(before.checkpoint, saved), checkpointAt: ctx.now }),
    })
    if (saved) await storeWithTasks(ctx, row, row.checkpoint ?? {})
    ctx.emit(sessionEnded, sessionEvent(row))
    const session = toSession(row)
    const remembered = isDone
      ? { ...session, checkpoint: mergeCheckpoint(row.checkpoint, { nextStep: null }) }
      : session
    return { session, memories: await rememberEnd(ctx, remembered) }
  },
)
