import { count, desc, eq, ne, type SQL, sql } from 'drizzle-orm'
import { type Ctx, flow, read, write } from '../../action.ts'
import { currentOrganization, nobody, userIdOf } from '../../auth/actor.ts'
import { member } from '../../auth/policy.ts'
import { newId } from '../../db/columns.ts'
import { and } from '../../db/conditions.ts'
import { AppError, invalid, notFound, type WayOut } from '../../errors.ts'
import { events } from '../../events/table.ts'
import { keyset } from '../../records/page.ts'
import { byReference, idStarts } from '../../records/rows.ts'
import { findAgent, speaker } from '../agents/parties.ts'
import { defaultProject, ifThere } from '../projects/current.ts'
import type { Project } from '../projects/schema.ts'
import * as projects from '../projects/service.ts'
import { find as findTask } from '../tasks/rows.ts'
import { briefOf, type Since } from './brief.ts'
import { rememberEnd } from './ending.ts'
import { sessionCheckpointed, sessionEnded, sessionPaused, sessionResumed, sessionStarted } from './events.ts'
import type {
  Brief,
  Checkpoint,
  Context,
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

const startSession: WayOut = { tool: 'create_session', route: 'POST /api/sessions', command: 'tutti sessions start' }
const resumeSession: WayOut = {
  tool: 'resume_session',
  route: 'POST /api/sessions/{id}/resume',
  command: 'tutti sessions resume',
}

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
const columns = {
  ...item,
  context: sessions.context,
  checkpoint: sessions.checkpoint,
  summary: sessions.summary,
  credentialId: sessions.credentialId,
  seenSeq: sessions.seenSeq,
}
type Row = Session & { credentialId: string | null; seenSeq: number }
const toSession = ({ credentialId: _, seenSeq: __, ...session }: Row): Session => session

// ---- finding

/** A session is its worker's alone: it holds what he had in mind. What others should know goes to memory when it ends. */
const own = (ctx: Ctx): SQL =>
  and(eq(sessions.userId, userIdOf(ctx.actor)), eq(sessions.organizationId, currentOrganization(ctx.actor)))
/** On the same token, and of the same agent where one speaks: two workers of one person do not get into each other's sessions. */
const mine = ({ actor }: Ctx): SQL | undefined =>
  and(eq(sessions.credentialId, actor.credentialId ?? nobody), actor.agent && eq(sessions.agentId, actor.agent.id))

/** A write holds it to its end, so two at once come one after the other. */
function select(ctx: Ctx, match: SQL | undefined) {
  const found = ctx.db
    .select(columns)
    .from(sessions)
    .where(and(match, own(ctx)))
    .$dynamic()
  return ctx.unit ? found.for('update') : found
}

async function find(ctx: Ctx, ref: string): Promise<Row> {
  const found = await byReference<Row>(ref, {
    id: (id) => select(ctx, eq(sessions.id, id)),
    name: async () => [],
    prefix: (prefix) => select(ctx, idStarts(sessions.id, prefix)).limit(2),
  })
  if (!found) throw notFound('session', ref)
  return found
}

/** The one that goes on at the moment. */
async function running(ctx: Ctx): Promise<Row | undefined> {
  const [found] = await select(ctx, and(mine(ctx), ne(sessions.status, 'ended')))
    .orderBy(desc(eq(sessions.status, 'active')), desc(sessions.updatedAt), desc(sessions.id))
    .limit(1)
  return found
}

/** The caller's last one: of this token before those of others, open ones before those that ended. */
async function last(ctx: Ctx): Promise<Row | undefined> {
  const [found] = await select(ctx, ctx.actor.agent && eq(sessions.agentId, ctx.actor.agent.id))
    .orderBy(
      desc(sql`coalesce(${mine(ctx)}, false)`),
      desc(ne(sessions.status, 'ended')),
      desc(eq(sessions.status, 'active')),
      desc(sessions.updatedAt),
      desc(sessions.id),
    )
    .limit(1)
  return found
}

async function namedOrRunning(ctx: Ctx, ref: string | undefined): Promise<Row> {
  const found = ref === undefined ? await running(ctx) : await find(ctx, ref)
  if (!found)
    throw new AppError('not_found', 'You have no running session here. Start or resume one.', {
      next: [startSession, resumeSession],
    })
  return found
}

const lastSeq = async (ctx: Ctx): Promise<number> =>
  (await ctx.db.select({ seq: events.seq }).from(events).orderBy(desc(events.seq)).limit(1))[0]?.seq ?? 0

// ---- reading

export const list = read(
  'sessions.list',
  member('sessions:read'),
  async (ctx, query: SessionQuery): Promise<SessionPage> => {
    const page = keyset({ updatedAt: sessions.updatedAt, startedAt: sessions.startedAt }, sessions.id, query, {
      sort: 'updatedAt',
    })
    const filters = and(
      own(ctx),
      query.status && eq(sessions.status, query.status),
      query.agentId === undefined ? undefined : eq(sessions.agentId, query.agentId),
      query.projectId === undefined ? undefined : eq(sessions.projectId, query.projectId),
    )
    const rows: SessionItem[] = await ctx.db
      .select(item)
      .from(sessions)
      .where(page.where(filters))
      .orderBy(...page.orderBy)
      .limit(page.limit)
    const total = query.total ? (await ctx.db.select({ n: count() }).from(sessions).where(filters))[0]?.n : undefined
    return page.page(rows, total)
  },
)

/** The same for whoever names an agent as people do. */
export const listNamed = read(
  'sessions.listNamed',
  member('sessions:read'),
  async (ctx, { agent, ...query }: SessionQuery & { agent?: string }): Promise<SessionPage> =>
    list(
      ctx,
      agent === undefined
        ? query
        : { ...query, agentId: (await findAgent(ctx, currentOrganization(ctx.actor), agent)).id },
    ),
)

export const get = read(
  'sessions.get',
  member('sessions:read'),
  async (ctx, { ref }: { ref: string }): Promise<Session> => toSession(await find(ctx, ref)),
)

const sinceYesterday = ({ now }: Ctx): Since => ({ at: new Date(Date.parse(now) - 86_400_000).toISOString() })

interface Told {
  row: Row | undefined
  project: Project | undefined
  since?: Since
  /** What its worker had worked with before. */
  before?: string | null
  tokens?: number
}

async function tell(ctx: Ctx, { row, project, since, before = null, tokens }: Told): Promise<Brief> {
  const session = row && toSession(row)
  const { type, id } = session?.agentId ? ({ type: 'agent', id: session.agentId } as const) : speaker(ctx)
  return briefOf(ctx, {
    session,
    project,
    worker: { type, id, credentials: [ctx.actor.credentialId, row?.credentialId ?? null, before] },
    since: since ?? (row ? { seq: row.seenSeq } : sinceYesterday(ctx)),
    tokens,
  })
}

const withBrief = (
  { goals: _, context: __, checkpoint: ___, summary: ____, ...head }: Session,
  brief: Brief,
): SessionBrief => ({
  ...head,
  brief,
})

/** Of the session that is named or running; of a project alone when that is another one, or none is running. */
export const context = read(
  'sessions.context',
  member('sessions:read'),
  async (ctx, { since, ...query }: ContextQuery): Promise<Context> =>
    contextOf(ctx, query, since === undefined ? undefined : { at: since }),
)

async function contextOf(ctx: Ctx, query: Omit<ContextQuery, 'since'>, since: Since | undefined): Promise<Context> {
  const found = query.sessionId === undefined ? await running(ctx) : await find(ctx, query.sessionId)
  const asked = query.projectId === undefined ? undefined : await projects.find(ctx, query.projectId)
  const row = found && (!asked || query.sessionId !== undefined || found.projectId === asked.id) ? found : undefined
  const project = asked ?? (row ? await ifThere(ctx, row.projectId) : await defaultProject(ctx))
  const brief = await tell(ctx, { row, project, since, tokens: query.budgetTokens })
  return { sessionId: row?.id ?? null, projectId: project?.id ?? null, brief }
}

// ---- writing

const start = write('sessions.start', member('sessions:write'), async (ctx, input: SessionCreate): Promise<Row> => {
  const organizationId = currentOrganization(ctx.actor)
  const task = input.taskId ? await findTask(ctx, input.taskId) : undefined
  const named = input.projectId ?? task?.projectId
  const project = named ? await projects.find(ctx, named) : await defaultProject(ctx)
  if (task && task.projectId !== project?.id) throw invalid('/taskId', `${task.key} is not a task of that project.`)
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
      credentialId: ctx.actor.credentialId,
      seenSeq: await lastSeq(ctx),
      createdAt: ctx.now,
      updatedAt: ctx.now,
    })
    .returning(columns)
  ctx.emit(sessionStarted, about(session as Row))
  await pauseOthers(ctx, session as Row)
  return session as Row
})

/** A worker is in one session at a time. */
async function pauseOthers(ctx: Ctx, { id, agentId }: Row): Promise<void> {
  const paused = await ctx.db
    .update(sessions)
    .set({ status: 'paused', updatedAt: ctx.now, version: sql`${sessions.version} + 1` })
    .where(
      and(
        own(ctx),
        mine(ctx),
        ne(sessions.id, id),
        eq(sessions.status, 'active'),
        sql`${sessions.agentId} is not distinct from ${agentId}::uuid`,
      ),
    )
    .returning(columns)
  for (const row of paused) ctx.emit(sessionPaused, about(row))
}

/** Begins, and tells what there is to know. */
export const create = flow(
  'sessions.create',
  member('sessions:write'),
  async (ctx, input: SessionCreate, keyed): Promise<SessionBrief> => {
    const row = await start(keyed, input)
    return withBrief(
      toSession(row),
      await tell(ctx, { row, project: await ifThere(ctx, row.projectId), since: sinceYesterday(ctx) }),
    )
  },
)

const takeUp = write(
  'sessions.takeUp',
  member('sessions:write'),
  async (ctx, { ref }: { ref?: string }): Promise<{ row: Row; before: string | null }> => {
    const found = ref === undefined ? await last(ctx) : await find(ctx, ref)
    if (!found)
      throw new AppError(
        'not_found',
        'You have no session to resume. Start one: its brief says what you have claimed and what was done.',
        { next: [startSession] },
      )
    const row = await change(ctx, found, { status: 'active', endedAt: null, credentialId: ctx.actor.credentialId })
    ctx.emit(sessionResumed, about(row))
    await pauseOthers(ctx, row)
    return { row, before: found.credentialId }
  },
)

/** What changed is told since its state was last saved, not since it was last resumed: who resumes may be cut off again. */
export const resume = flow(
  'sessions.resume',
  member('sessions:write'),
  async (ctx, { ref, budgetTokens }: { ref?: string; budgetTokens?: number }, keyed): Promise<SessionBrief> => {
    const { row, before } = await takeUp(keyed, { ref })
    const project = await ifThere(ctx, row.projectId)
    return withBrief(toSession(row), await tell(ctx, { row, before, project, tokens: budgetTokens }))
  },
)

export const checkpoint = write(
  'sessions.checkpoint',
  member('sessions:write'),
  async (ctx, { ref, checkpoint: saved, taskId: named }: SessionCheckpoint & { ref?: string }): Promise<Session> => {
    const before = await namedOrRunning(ctx, ref)
    if (before.status === 'ended')
      throw new AppError('conflict', 'This session has ended. Resume it first.', { next: [resumeSession] })
    const taskId = named === undefined ? before.taskId : await taskIn(ctx, before, named)
    const row = await change(ctx, before, {
      checkpoint: saved,
      checkpointAt: ctx.now,
      taskId,
      seenSeq: await lastSeq(ctx),
    })
    ctx.emit(sessionCheckpointed, about(row))
    return toSession(row)
  },
)

async function taskIn(ctx: Ctx, { projectId }: Row, ref: string): Promise<string> {
  const task = await findTask(ctx, ref)
  if (projectId && task.projectId !== projectId)
    throw invalid('/taskId', `${task.key} is not a task of the session's project.`)
  return task.id
}

/** Its final state goes to memory, where whoever comes next finds it. */
export const end = write(
  'sessions.end',
  member('sessions:write'),
  async (ctx, { ref, summary, checkpoint: saved }: SessionEnd & { ref?: string }): Promise<SessionEnded> => {
    const before = await namedOrRunning(ctx, ref)
    if (before.status === 'ended')
      throw new AppError('conflict', `This session has ended already, at ${before.endedAt}.`)
    const row = await change(ctx, before, {
      status: 'ended',
      endedAt: ctx.now,
      ...(summary !== undefined && { summary }),
      ...(saved && { checkpoint: saved, checkpointAt: ctx.now }),
    })
    ctx.emit(sessionEnded, about(row))
    const session = toSession(row)
    return { session, memories: await rememberEnd(ctx, session) }
  },
)

/** For the tool that reads the context: where its caller is, and then what there is to know. */
export const saveAndBrief = flow(
  'sessions.saveAndBrief',
  member('sessions:write'),
  async (
    ctx,
    { checkpoint: saved = {}, ...query }: ContextQuery & { checkpoint?: Checkpoint },
    keyed,
  ): Promise<Context> => {
    const { seenSeq } = await namedOrRunning(ctx, query.sessionId)
    const { id } = await checkpoint(keyed, { ref: query.sessionId, checkpoint: saved })
    // What changed until now is told this once more, though it counts as seen from here on.
    return contextOf(
      ctx,
      { ...query, sessionId: id },
      query.since === undefined ? { seq: seenSeq } : { at: query.since },
    )
  },
)

async function change(ctx: Ctx, { id }: Row, set: Partial<typeof sessions.$inferInsert>): Promise<Row> {
  const [row] = await ctx.db
    .update(sessions)
    .set({ ...set, updatedAt: ctx.now, version: sql`${sessions.version} + 1` })
    .where(eq(sessions.id, id))
    .returning(columns)
  return row as Row
}

/** That somebody is at work is the team's to know; at what, and what he thinks of it, is his own. */
const about = (session: Row) => ({
  subjectId: session.id,
  organizationId: session.organizationId,
  projectId: session.projectId,
  data: { status: session.status, version: session.version },
})
