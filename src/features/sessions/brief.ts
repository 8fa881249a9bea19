import { and, desc, eq, gt, inArray, isNull, or, type SQL, sql } from 'drizzle-orm'
import type { Action, Ctx } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { authorize, member, type Rule } from '../../auth/policy.ts'
import { rightsOf } from '../../auth/rights.ts'
import { AppError } from '../../errors.ts'
import { feedColumns, feedEntry, isOneOf, isToldTo } from '../../events/feed.ts'
import { events } from '../../events/table.ts'
import { shortId } from '../../records/rows.ts'
import { sameParty } from '../agents/parties.ts'
import { agents } from '../agents/table.ts'
import * as decisions from '../decisions/service.ts'
import type { MemoryHit, MemoryHits } from '../memory/schema.ts'
import * as memory from '../memory/service.ts'
import type { Project } from '../projects/schema.ts'
import { selectItems, visibleTo } from '../tasks/rows.ts'
import type { TaskDetail } from '../tasks/schema.ts'
import * as taskService from '../tasks/service.ts'
import { tasks } from '../tasks/table.ts'
import { users } from '../users/table.ts'
import { block, DEFAULT_TOKENS, named, type Part, pack, quoted } from './pack.ts'
import type { Brief, Session } from './schema.ts'

/** Who the brief is for: whose task it is, and what he has done himself. */
export interface Worker {
  type: 'user' | 'agent'
  id: string
  /** What he has worked with. */
  credentials: (string | null)[]
}

export type Since = { at: string } | { seq: number }

interface Asked {
  session: Session | undefined
  project: Project | undefined
  worker: Worker
  since: Since
  tokens?: number
}

/** What somebody who has forgotten everything needs to go on. What the caller may not read is not in it, whatever a session once knew. */
export async function briefOf(ctx: Ctx, asked: Asked): Promise<Brief> {
  const { session, project, tokens = DEFAULT_TOKENS } = asked
  const tasksToo = may(ctx, taskService.list)
  const decisionsToo = project && may(ctx, decisions.list)
  const task = tasksToo ? await liveTask(ctx, asked) : undefined
  const { others, own } = project ? await changes(ctx, project, asked) : {}
  return pack(
    [
      task && (await taskPart(ctx, task, asked.worker)),
      session && leftOff(session),
      project && tasksToo ? await doneWork(ctx, project) : undefined,
      decisionsToo ? await decided(ctx, project) : undefined,
      project && may(ctx, memory.search) ? await remembered(ctx, project, session, task) : undefined,
      others,
      own,
      await openQuestions(ctx, session, decisionsToo ? project : undefined),
      project && tasksToo ? await ahead(ctx, project, task) : undefined,
    ],
    tokens,
  )
}

/** A token may be for less than all that a brief can tell. */
const may = (ctx: Ctx, what: Pick<Action<never, unknown>, 'rule'> | Rule): boolean => {
  try {
    authorize(ctx.actor, 'rule' in what ? what.rule : what, 'brief', ctx.app.clock)
    return true
  } catch {
    return false
  }
}

const list = (label: string, items: readonly string[] | undefined): string[] =>
  items?.length ? [`${label}: ${items.map((item) => quoted(item)).join(', ')}`] : []
const day = (at: string): string => at.slice(0, 16).replace('T', ' ')

function leftOff({ goals, context, checkpoint: saved, checkpointAt, summary, status, startedAt }: Session): Part {
  return {
    title: 'Where you left off',
    share: 5,
    fair: true,
    lines: [
      ...(saved?.nextStep ? [`Next step: ${quoted(saved.nextStep, 2000)}`] : []),
      ...list('Branch', saved?.branch ? [saved.branch] : undefined),
      ...list('Files', saved?.files),
      ...list('Commands', saved?.commands),
      ...list('Check', saved?.checks),
      checkpointAt
        ? `Saved ${day(checkpointAt)}; the session began ${day(startedAt)}${status === 'ended' ? ' and has ended' : ''}.`
        : `Nothing was saved since the session began ${day(startedAt)}: see what you did, below, before you repeat any of it.`,
      ...list('Goals', goals),
      ...(summary ? [`Summary: ${quoted(summary, 5000)}`] : []),
      ...(context ? [`Context, as it was when the session began:\n${block(context)}`] : []),
    ],
  }
}

/** The one that the session names, else one that its worker holds or was at when his claim ran out. */
async function liveTask(ctx: Ctx, { session, project, worker }: Asked): Promise<TaskDetail | undefined> {
  const held = and(
    eq(tasks.leaseType, worker.type),
    eq(tasks.leaseHolderId, worker.id),
    gt(tasks.leaseExpiresAt, ctx.now),
  )
  const begun = and(
    eq(tasks.assigneeType, worker.type),
    eq(tasks.assigneeId, worker.id),
    eq(tasks.status, 'in_progress'),
  )
  const [found] = await selectItems(ctx)
    .where(
      and(
        visibleTo(rightsOf(ctx.actor)),
        project && eq(tasks.projectId, project.id),
        inArray(tasks.status, ['backlog', 'todo', 'in_progress', 'blocked', 'in_review']),
        or(session?.taskId ? eq(tasks.id, session.taskId) : undefined, held, begun),
      ),
    )
    .orderBy(
      desc(sql`${tasks.id} = ${session?.taskId ?? null}::uuid`),
      desc(sql`${held}`),
      desc(sql`coalesce(${tasks.leaseSeenAt}, ${tasks.updatedAt})`),
    )
    .limit(1)
  return found && taskService.detail(ctx, { ref: found.id })
}

async function taskPart(ctx: Ctx, task: TaskDetail, worker: Worker): Promise<Part> {
  const [author] = await ctx.db
    .select({ name: users.name })
    .from(tasks)
    .innerJoin(users, eq(users.id, tasks.createdById))
    .where(eq(tasks.id, task.id))
  const by = author ? ` (${named(author.name)})` : ''
  return {
    title: `Your task: ${task.key}`,
    share: 6,
    fair: true,
    lines: [
      `${quoted(task.title)}${by}: ${task.status}, priority ${task.priority}${task.dueAt ? `, due ${day(task.dueAt)}` : ''}`,
      claimOf(task, worker),
      ...task.acceptance.map((a) => `- [${a.done ? 'x' : ' '}] ${quoted(a.text)}`),
      ...(task.blockedBy.length ? [`Waits for: ${task.blockedBy.join(', ')}`] : []),
      ...(task.frees.length ? [`Frees: ${task.frees.map((f) => f.key).join(', ')}`] : []),
      ...(task.description ? [`Description${by}:\n${block(task.description)}`] : []),
      ...task.comments.slice(-5).map((c) => `Comment ${day(c.createdAt)}: ${quoted(c.body)} (${named(c.author.name)})`),
    ],
  }
}

function claimOf({ key, lease }: TaskDetail, worker: Worker): string {
  if (!lease) return `Nobody holds it now. Before you go on: claim_task ${key}.`
  if (sameParty(lease.holder, worker)) return `Yours until ${lease.expiresAt}; every call renews it.`
  return `Held by ${named(lease.holder.name)} until ${lease.expiresAt}: leave it to them, or ask.`
}

/** Named, so that nobody does it again. */
async function doneWork(ctx: Ctx, project: Project): Promise<Part> {
  const rows = await ctx.db
    .select({
      title: tasks.title,
      number: tasks.number,
      notes: tasks.completionNotes,
      at: tasks.completedAt,
      name: sql<string | null>`coalesce(${users.name}, ${agents.name})`,
    })
    .from(tasks)
    .leftJoin(users, and(eq(tasks.assigneeType, 'user'), eq(users.id, tasks.assigneeId)))
    .leftJoin(agents, and(eq(tasks.assigneeType, 'agent'), eq(agents.id, tasks.assigneeId)))
    .where(and(eq(tasks.projectId, project.id), eq(tasks.status, 'done'), isNull(tasks.deletedAt)))
    .orderBy(desc(tasks.completedAt))
    .limit(20)
  return {
    title: 'Done already',
    share: 2,
    lines: rows.map(
      ({ number, title, notes, at, name }) =>
        `- ${project.key}-${number} ${quoted(title, 60)}${notes ? `: ${quoted(notes, 100)}` : ''}${name ? ` (${named(name)}${at ? `, ${day(at)}` : ''})` : ''}`,
    ),
  }
}

async function decided(ctx: Ctx, project: Project): Promise<Part> {
  const items = await decisions.about(ctx, project, 'accepted')
  return {
    title: 'Decisions that hold',
    share: 3,
    lines: items.map(
      (d) => `- ${quoted(d.title, 60)}: ${quoted(d.excerpt, 100)} (${named(d.author.name)}, ${shortId(d.id)})`,
    ),
  }
}

/** Below this the nearest is not near. What was stored a moment ago has no vector yet: there, a few of the words have to do. */
const near = ({ score, meaning }: MemoryHit): boolean => score >= (meaning === null ? 0.01 : 0.25)

/** The agent of a session may be archived by now. */
const nothing = (error: unknown): MemoryHits => {
  if (error instanceof AppError) return { items: [], mode: 'words' }
  throw error
}

async function remembered(
  ctx: Ctx,
  project: Project,
  session: Session | undefined,
  task: TaskDetail | undefined,
): Promise<Part | undefined> {
  const about = [task?.title, session?.checkpoint?.nextStep, ...(session?.goals ?? [])].filter(Boolean).join('. ')
  const query = (about || [project.name, project.description].filter(Boolean).join('. ')).slice(0, 500).toWellFormed()
  const lines: string[] = []
  const remember = (title: string | null, content: string, from: string) =>
    lines.push(`- ${title ? `${quoted(title, 60)}: ` : ''}${quoted(content, 150)} (${named(from)})`)
  // What was stored about the session itself matters to it whatever it says.
  const own = session ? (await memory.list(ctx, { scope: 'session', scopeId: session.id, limit: 8 })).items : []
  for (const { title, excerpt, author } of own) remember(title, excerpt, author.name)
  const places = [{ scope: 'project' as const, scopeId: project.id }]
  for (const place of session?.agentId ? [...places, { scope: 'agent' as const, scopeId: session.agentId }] : places) {
    const { items } = await memory.search(ctx, { query, ...place, limit: 8 }).catch(nothing)
    for (const { title, content, age, origin } of items.filter(near)) remember(title, content, `${origin}, ${age} old`)
  }
  return { title: 'What is remembered', share: 3, lines }
}

/** The kinds of a project's events that the caller may read about. A plan makes epics, stories and tasks in one event. */
const readableKinds = (ctx: Ctx): Set<string> =>
  new Set(
    [...ctx.app.records.all.filter(({ inBriefs }) => inBriefs), { kind: 'plan', scope: 'tasks:read' as const }]
      .filter(({ scope }) => may(ctx, member(scope)))
      .map(({ kind }) => kind),
  )

async function changes(ctx: Ctx, project: Project, { since, worker }: Asked): Promise<{ others?: Part; own?: Part }> {
  const kinds = readableKinds(ctx)
  const types = ctx.app.events.types(({ kind }) => kinds.has(kind))
  const after: SQL = 'at' in since ? gt(events.at, since.at) : gt(events.seq, since.seq)
  const rows = await ctx.db
    .select({ ...feedColumns, credentialId: events.credentialId, subjectId: events.subjectId })
    .from(events)
    .where(
      and(
        eq(events.projectId, project.id),
        // Not what was done in it while it was another team's.
        eq(events.organizationId, project.organizationId),
        after,
        isToldTo(userIdOf(ctx.actor)),
        isOneOf(types),
      ),
    )
    .orderBy(desc(events.seq))
    .limit(200)
  const mine = (row: (typeof rows)[number]): boolean =>
    row.actorKind === 'agent'
      ? row.actorId === worker.id
      : row.credentialId !== null && worker.credentials.includes(row.credentialId)
  const linesOf = (some: typeof rows): string[] => {
    const last = new Map<string, { line: string; times: number }>()
    for (const row of some) {
      const { description, actor } = feedEntry(ctx.app.events, row)
      const line = `${quoted(description, 80)} (${named(actor.name)})`
      const known = last.get(`${row.subjectId} ${line}`)
      if (known) known.times++
      else last.set(`${row.subjectId} ${line}`, { line: `- ${day(row.at)} ${line}`, times: 1 })
    }
    return [...last.values()].map(({ line, times }) => (times > 1 ? `${line}, ${times} times` : line)).slice(0, 50)
  }
  const from = 'at' in since ? `since ${day(since.at)}` : 'since this was last saved'
  return {
    others: { title: `What others changed ${from}`, share: 3, lines: linesOf(rows.filter((row) => !mine(row))) },
    own: { title: `What you did ${from}`, share: 3, lines: linesOf(rows.filter(mine)) },
  }
}

async function openQuestions(ctx: Ctx, session: Session | undefined, project: Project | undefined): Promise<Part> {
  const proposed = project ? await decisions.about(ctx, project, 'proposed') : []
  return {
    title: 'Open questions',
    share: 2,
    lines: [
      ...(session?.checkpoint?.openQuestions ?? []).map((question) => `- ${quoted(question)}`),
      ...proposed.map((d) => `- To be decided: ${quoted(d.title, 60)} (${named(d.author.name)}, ${shortId(d.id)})`),
    ],
  }
}

async function ahead(ctx: Ctx, project: Project, own: TaskDetail | undefined): Promise<Part> {
  const { items } = await taskService.list(ctx, {
    projectId: project.id,
    ready: true,
    sort: 'position',
    order: 'asc',
    limit: 10,
  })
  const others = items.filter(({ id }) => id !== own?.id)
  return {
    title: `Ready to be taken in ${project.key}`,
    share: 1,
    lines: others.map((t) => `- ${t.key} ${quoted(t.title, 60)} (${t.priority})`),
  }
}
