import { and, count, desc, eq, type SQL, sql } from 'drizzle-orm'
import { type Ctx, flow, read, write } from '../../action.ts'
import { currentOrganization, userIdOf } from '../../auth/actor.ts'
import { member } from '../../auth/policy.ts'
import { newId } from '../../db/columns.ts'
import { keyset } from '../../db/page.ts'
import { byReference, changeVersioned, idStarts } from '../../db/records.ts'
import { AppError, notFound } from '../../errors.ts'
import { events } from '../../events/table.ts'
import { findAgent } from '../agents/parties.ts'
import * as memory from '../memory/service.ts'
import type { Project } from '../projects/schema.ts'
import * as projects from '../projects/service.ts'
import { find as findTask } from '../tasks/rows.ts'
import { briefOf, type Since } from './brief.ts'
import type {
  Checkpoint,
  ContextQuery,
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

const item = {
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
const columns = { ...item, context: sessions.context, checkpoint: sessions.checkpoint, summary: sessions.summary }

/** A session is its worker's: nobody else needs what he had in mind. */
const own = (ctx: Ctx): SQL =>
  and(eq(sessions.userId, userIdOf(ctx.actor)), eq(sessions.organizationId, currentOrganization(ctx.actor))) as SQL

async function find(ctx: Ctx, ref: string): Promise<Session> {
  const select = (match: SQL) =>
    ctx.db
      .select(columns)
      .from(sessions)
      .where(and(match, own(ctx)))
      .limit(2)
  const found = await byReference<Session>(ref, {
    id: (id) => select(eq(sessions.id, id)),
    name: async () => [],
    prefix: (prefix) => select(idStarts(sessions.id, prefix)),
  })
  if (!found) throw notFound('session', ref)
  return found
}

/** The one named, else the caller's last: of the agent that speaks, if one does. */
async function lastOr(ctx: Ctx, ref: string | undefined): Promise<Session | undefined> {
  if (ref) return find(ctx, ref)
  const [last] = await ctx.db
    .select(columns)
    .from(sessions)
    .where(and(own(ctx), ctx.actor.agent ? eq(sessions.agentId, ctx.actor.agent.id) : undefined))
    .orderBy(desc(eq(sessions.status, 'active')), desc(sessions.updatedAt))
    .limit(1)
  return last
}

const projectOf = (ctx: Ctx, id: string | null | undefined): Promise<Project | undefined> =>
  id ? projects.resolve(ctx, id).catch(() => undefined) : Promise.resolve(undefined)

async function lastSeq(ctx: Ctx): Promise<number> {
  const [row] = await ctx.db.select({ seq: sql<number>`coalesce(max(${events.seq}), 0)` }).from(events)
  return Number(row?.seq ?? 0)
}

export const list = read('sessions.list', member('sessions:read'), async (ctx, query: SessionQuery): Promise<SessionPage> => {
  const page = keyset({ updatedAt: sessions.updatedAt, startedAt: sessions.startedAt }, sessions.id, query, { sort: 'updatedAt' })
  const agent = query.agentId ? await findAgent(ctx, currentOrganization(ctx.actor), query.agentId) : undefined
  const project = query.projectId ? await projects.resolve(ctx, query.projectId) : undefined
  const filters = and(
    own(ctx),
    query.status && eq(sessions.status, query.status),
    agent && eq(sessions.agentId, agent.id),
    project && eq(sessions.projectId, project.id),
  )
  const rows: SessionItem[] = await ctx.db
    .select(item)
    .from(sessions)
    .where(page.where(filters))
    .orderBy(...page.orderBy)
    .limit(page.limit)
  const total = query.total ? (await ctx.db.select({ n: count() }).from(sessions).where(filters))[0]?.n : undefined
  return page.page(rows, total)
})

export const get = read('sessions.get', member('sessions:read'), (ctx, { ref }: { ref: string }): Promise<Session> => find(ctx, ref))

const start = write('sessions.start', member('sessions:write'), async (ctx, input: SessionCreate): Promise<Session> => {
  const organizationId = currentOrganization(ctx.actor)
  const task = input.taskId ? await findTask(ctx, input.taskId) : undefined
  const named = input.projectId ?? task?.projectId ?? ctx.actor.projectId
  const project = named ? await projects.resolve(ctx, named) : undefined
  const agent = input.agentId ? await findAgent(ctx, organizationId, input.agentId) : ctx.actor.agent
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
      seenSeq: await lastSeq(ctx),
      createdAt: ctx.now,
      updatedAt: ctx.now,
    })
    .returning(columns)
  announce(ctx, 'session.started', session as Session)
  return session as Session
})

/** Begins, and tells what there is to know. */
export const create = flow('sessions.create', member('sessions:write'), async (ctx, input: SessionCreate): Promise<SessionBrief> => {
  const session = await start(ctx, input)
  const project = await projectOf(ctx, session.projectId)
  return { session, brief: await briefOf(ctx, { session, project, since: {} }) }
})

/** Marks what has been seen up to now, and says up to where it had been before. */
const takeUp = write(
  'sessions.takeUp',
  member('sessions:write'),
  async (ctx, { id }: { id: string }): Promise<{ session: Session; since: Since }> => {
    const before = await find(ctx, id)
    const [seen] = await ctx.db.select({ seq: sessions.seenSeq }).from(sessions).where(eq(sessions.id, id))
    await change(ctx, before, { status: 'active', endedAt: null, seenSeq: await lastSeq(ctx) })
    const session = await find(ctx, id)
    announce(ctx, 'session.resumed', session)
    return { session, since: { seq: Number(seen?.seq ?? 0) } }
  },
)

export const resume = flow(
  'sessions.resume',
  member('sessions:write'),
  async (ctx, { ref, budgetTokens }: { ref?: string; budgetTokens?: number }): Promise<SessionBrief> => {
    const found = await lastOr(ctx, ref)
    if (!found) throw new AppError('not_found', 'You have no session to resume. Begin one with create_session.')
    const { session, since } = await takeUp(ctx, { id: found.id })
    const project = await projectOf(ctx, session.projectId)
    return { session, brief: await briefOf(ctx, { session, project, since, tokens: budgetTokens }) }
  },
)

export const checkpoint = write(
  'sessions.checkpoint',
  member('sessions:write'),
  async (ctx, { ref, checkpoint: saved, taskId: task }: SessionCheckpoint & { ref?: string }): Promise<Session> => {
    const before = await lastOr(ctx, ref)
    if (!before) throw new AppError('not_found', 'You have no session to save to. Begin one with create_session.')
    const taskId = task ? (await findTask(ctx, task)).id : before.taskId
    await change(ctx, before, { checkpoint: saved, checkpointAt: ctx.now, taskId, seenSeq: await lastSeq(ctx) })
    const session = await find(ctx, before.id)
    announce(ctx, 'session.checkpointed', session)
    return session
  },
)

const close = write(
  'sessions.close',
  member('sessions:write'),
  async (ctx, { id, summary, checkpoint: saved }: { id: string; summary?: string; checkpoint?: Checkpoint }): Promise<Session> => {
    const before = await find(ctx, id)
    if (before.status === 'ended') throw new AppError('conflict', 'This session has ended already.')
    await change(ctx, before, {
      status: 'ended',
      endedAt: ctx.now,
      ...(summary !== undefined && { summary }),
      ...(saved && { checkpoint: saved, checkpointAt: ctx.now }),
    })
    const session = await find(ctx, id)
    announce(ctx, 'session.ended', session)
    return session
  },
)

/** Its final state goes to memory, where whoever comes next finds it. */
export const end = flow(
  'sessions.end',
  member('sessions:write'),
  async (ctx, { ref, ...input }: SessionEnd & { ref?: string }): Promise<SessionEnded> => {
    const found = await lastOr(ctx, ref)
    if (!found) throw new AppError('not_found', 'You have no session to end.')
    const session = await close(ctx, { id: found.id, ...input })
    const content = finalState(session)
    if (!content) return { session, memories: [] }
    const place = session.projectId
      ? { scope: 'project' as const, scopeId: session.projectId }
      : session.agentId
        ? { scope: 'agent' as const, scopeId: session.agentId }
        : { scope: 'session' as const, scopeId: session.id }
    const title = `Session of ${session.startedAt.slice(0, 10)}: ${session.goals[0] ?? 'work'}`.slice(0, 200)
    const { id } = await memory.store(ctx, { ...place, title, content, tags: ['session'], source: `session ${session.id}` })
    return { session, memories: [{ id, title }] }
  },
)

function finalState({ goals, summary, checkpoint: saved }: Session): string {
  const lines = [
    summary,
    goals.length ? `Goals: ${goals.join('; ')}` : undefined,
    saved?.nextStep && `Next step: ${saved.nextStep}`,
    saved?.branch && `Branch: ${saved.branch}`,
    saved?.files?.length && `Files: ${saved.files.join(', ')}`,
    saved?.openQuestions?.length && `Open questions: ${saved.openQuestions.join('; ')}`,
  ]
  return summary || saved ? lines.filter(Boolean).join('\n').slice(0, 30_000) : ''
}

/** A brief without a session, or of one; saves a checkpoint on the way when one is given. */
export const context = read('sessions.context', member('sessions:read'), async (ctx, query: ContextQuery): Promise<SessionBrief> => {
  const session = query.sessionId ? await find(ctx, query.sessionId) : ((await lastOr(ctx, undefined)) ?? null)
  const current = session && session.status !== 'ended' ? session : null
  const named = query.projectId ?? current?.projectId ?? ctx.actor.projectId
  const project = named ? await projects.resolve(ctx, named) : undefined
  const relevant = current && (!project || current.projectId === project.id) ? current : null
  const [seen] = relevant ? await ctx.db.select({ seq: sessions.seenSeq }).from(sessions).where(eq(sessions.id, relevant.id)) : []
  const since: Since = query.since ? { at: query.since } : seen ? { seq: Number(seen.seq) } : {}
  return { session: relevant, brief: await briefOf(ctx, { session: relevant, project, since, tokens: query.budgetTokens }) }
})

/** For the tool that reads the context and may save where its caller is. */
export const saveAndBrief = flow(
  'sessions.saveAndBrief',
  member('sessions:write'),
  async (ctx, { checkpoint: saved, ...query }: ContextQuery & { checkpoint?: Checkpoint }): Promise<SessionBrief> => {
    if (saved) await checkpoint(ctx, { ref: query.sessionId, checkpoint: saved })
    return context(ctx, query)
  },
)

type Change = Partial<typeof sessions.$inferInsert>
async function change(ctx: Ctx, { id, version }: Session, set: Change): Promise<void> {
  await changeVersioned(ctx, sessions, {
    columns: { id: sessions.id, version: sessions.version },
    before: { id, version },
    set,
    what: 'this session',
    again: () => find(ctx, id),
  })
}

function announce(ctx: Ctx, type: string, session: Session): void {
  ctx.emit(type, {
    subjectId: session.id,
    organizationId: session.organizationId,
    projectId: session.projectId,
    userId: session.userId,
    data: { goals: session.goals, status: session.status, version: session.version },
  })
}
