import { and, desc, eq, gt, gte, inArray, notInArray, or, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { events } from '../../events/table.ts'
import * as decisions from '../decisions/service.ts'
import * as memory from '../memory/service.ts'
import type { Project } from '../projects/schema.ts'
import type { TaskDetail } from '../tasks/schema.ts'
import * as taskService from '../tasks/service.ts'
import { tasks } from '../tasks/table.ts'
import type { Brief, Session } from './schema.ts'

/**
 * What somebody who has forgotten everything needs to go on, packed into a budget. The parts stand in the order of their importance; what
 * does not fit is shortened from the end, and what is left out is named.
 */
interface Part {
  title: string
  lines: string[]
  /** Never left out, only shortened. */
  needed?: true
}

/** About four characters a token in English and code. */
const CHARACTERS = 4
export const DEFAULT_TOKENS = 4000
/** Below this the nearest is not near. */
const RELEVANT = 0.25

export async function briefOf(
  ctx: Ctx,
  {
    session,
    project,
    since,
    tokens = DEFAULT_TOKENS,
  }: { session: Session | null; project: Project | undefined; since: Since; tokens?: number },
): Promise<Brief> {
  const task = await liveTask(ctx, session, project)
  const parts: (Part | undefined)[] = [
    leftOff(session),
    task && taskPart(task),
    await doneWork(ctx, session, project),
    await decided(ctx, project),
    await remembered(ctx, session, project, task),
    await changes(ctx, project, since),
    await ahead(ctx, project),
  ]
  return pack(
    parts.filter((part): part is Part => part !== undefined && part.lines.length > 0),
    tokens,
  )
}

export interface Since {
  at?: string
  seq?: number
}

function pack(parts: Part[], tokens: number): Brief {
  let room = tokens * CHARACTERS
  const out: string[] = []
  const left: string[] = []
  for (const { title, lines, needed } of parts) {
    const head = `## ${title}`
    const kept: string[] = []
    room -= head.length + 2
    for (const line of lines) {
      if (line.length + 1 <= room) {
        kept.push(line)
        room -= line.length + 1
      } else {
        if (needed && kept.length === 0 && room > 20) {
          kept.push(`${line.slice(0, room - 2)}…`)
          room = 0
        }
        break
      }
    }
    if (kept.length > 0) out.push(head, ...kept, '')
    else room += head.length + 2
    if (kept.length < lines.length) left.push(kept.length === 0 ? title : `${title}: ${lines.length - kept.length} more`)
  }
  const text = out.join('\n').trim()
  return { text, tokens: Math.ceil(text.length / CHARACTERS), left }
}

const bullets = (label: string, list: readonly string[] | undefined): string[] => (list?.length ? [`${label}: ${list.join('; ')}`] : [])
const one = (text: string, most = 300): string => {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > most ? `${line.slice(0, most - 1)}…` : line
}

function leftOff(session: Session | null): Part | undefined {
  if (!session) return undefined
  const { goals, context, checkpoint, checkpointAt, summary } = session
  return {
    title: 'Where you left off',
    needed: true,
    lines: [
      ...bullets('Goals', goals),
      ...(checkpoint?.nextStep ? [`Next step: ${checkpoint.nextStep}`] : []),
      ...bullets('Files', checkpoint?.files),
      ...(checkpoint?.branch ? [`Branch: ${checkpoint.branch}`] : []),
      ...bullets('Commands', checkpoint?.commands),
      ...bullets('To check', checkpoint?.checks),
      ...bullets('Open questions', checkpoint?.openQuestions),
      ...(checkpointAt ? [`Saved: ${checkpointAt}`] : []),
      ...(summary ? [`Summary: ${summary}`] : []),
      ...(context ? [`Context: ${context}`] : []),
    ],
  }
}

/** The one the session names, else the one that its worker holds. */
async function liveTask(ctx: Ctx, session: Session | null, project: Project | undefined): Promise<TaskDetail | undefined> {
  const { type, id } = session?.agentId ? { type: 'agent' as const, id: session.agentId } : { type: 'user' as const, id: ctx.actor.userId }
  const held = and(eq(tasks.leaseType, type), eq(tasks.leaseHolderId, id ?? ''), gt(tasks.leaseExpiresAt, ctx.now))
  const [row] = id
    ? await ctx.db
        .select({ id: tasks.id })
        .from(tasks)
        .where(
          and(
            sql`${tasks.deletedAt} is null`,
            project ? eq(tasks.projectId, project.id) : undefined,
            session?.taskId ? or(eq(tasks.id, session.taskId), held) : held,
          ),
        )
        .orderBy(desc(sql`${tasks.id} = ${session?.taskId ?? null}::uuid`), desc(tasks.leaseSeenAt))
        .limit(1)
    : []
  return row && taskService.detail(ctx, { ref: row.id }).catch(() => undefined)
}

function taskPart(task: TaskDetail): Part {
  return {
    title: `Your task: ${task.key} ${task.title}`,
    needed: true,
    lines: [
      `Status ${task.status}, priority ${task.priority}${task.dueAt ? `, due ${task.dueAt.slice(0, 10)}` : ''}${task.lease ? `, yours until ${task.lease.expiresAt}` : ''}`,
      ...task.acceptance.map((a) => `- [${a.done ? 'x' : ' '}] ${a.text}`),
      ...(task.blockedBy.length ? [`Waits for: ${task.blockedBy.join(', ')}`] : []),
      ...(task.frees.length ? [`Frees: ${task.frees.map((f) => f.key).join(', ')}`] : []),
      ...(task.description ? [task.description] : []),
      ...task.comments.slice(-3).map((c) => `Comment by ${c.author.name}: ${one(c.body)}`),
    ],
  }
}

/** Named, so that nobody does it again. */
async function doneWork(ctx: Ctx, session: Session | null, project: Project | undefined): Promise<Part | undefined> {
  if (!session || !project) return undefined
  const rows = await ctx.db
    .select({ title: tasks.title, number: tasks.number, notes: tasks.completionNotes })
    .from(tasks)
    .where(
      and(
        eq(tasks.projectId, project.id),
        eq(tasks.status, 'done'),
        gte(tasks.completedAt, session.startedAt),
        sql`${tasks.deletedAt} is null`,
      ),
    )
    .orderBy(desc(tasks.completedAt))
    .limit(20)
  return {
    title: 'Done since this session began',
    lines: rows.map((r) => `- ${project.key}-${r.number} ${r.title}${r.notes ? `: ${one(r.notes, 160)}` : ''}`),
  }
}

async function decided(ctx: Ctx, project: Project | undefined): Promise<Part | undefined> {
  if (!project) return undefined
  const { items } = await decisions.list(ctx, { projectId: project.id, status: 'accepted', limit: 10 })
  return { title: 'Decisions that hold', lines: items.map((d) => `- ${d.title}: ${one(d.excerpt)}`) }
}

async function remembered(
  ctx: Ctx,
  session: Session | null,
  project: Project | undefined,
  task: TaskDetail | undefined,
): Promise<Part | undefined> {
  const about = [task?.title, session?.checkpoint?.nextStep, ...(session?.goals ?? [])].filter(Boolean).join('. ').slice(0, 900)
  if (!about || !project) return undefined
  const { items } = await memory.search(ctx, { query: about, scope: 'project', scopeId: project.id, limit: 8 })
  const relevant = items.filter((m) => m.score >= RELEVANT)
  return {
    title: 'What is remembered',
    lines: relevant.map((m) => `- ${m.title ? `${m.title}: ` : ''}${one(m.content, 400)} (${m.age} old)`),
  }
}

const told = /^(task|feature|decision|spec|note|memory|epic|story|plan|project)\./

async function changes(ctx: Ctx, project: Project | undefined, since: Since): Promise<Part | undefined> {
  if (!project || (since.at === undefined && since.seq === undefined)) return undefined
  const after: SQL = since.at !== undefined ? gt(events.at, since.at) : gt(events.seq, since.seq as number)
  const rows = await ctx.db
    .select({ type: events.type, at: events.at, name: events.actorName, data: events.data })
    .from(events)
    .where(
      and(
        eq(events.projectId, project.id),
        after,
        notInArray(
          events.actorId,
          [ctx.actor.userId, ctx.actor.agent?.id].filter((id): id is string => !!id),
        ),
      ),
    )
    .orderBy(desc(events.seq))
    .limit(40)
  return {
    title: 'What others changed meanwhile',
    lines: rows
      .filter((r) => told.test(r.type))
      .map((r) => {
        const { key, title, name, status } = r.data as Record<string, string | undefined>
        return `- ${r.at.slice(0, 16).replace('T', ' ')} ${r.type} ${[key, title ?? name].filter(Boolean).join(' ')}${status ? ` (${status})` : ''} by ${r.name}`
      }),
  }
}

async function ahead(ctx: Ctx, project: Project | undefined): Promise<Part | undefined> {
  if (!project) return undefined
  const { items, total } = await taskService.list(ctx, {
    projectId: project.id,
    ready: true,
    sort: 'position',
    order: 'asc',
    limit: 10,
    total: true,
  })
  const counts = await ctx.db
    .select({ status: tasks.status, n: sql<number>`count(*)::int` })
    .from(tasks)
    .where(
      and(
        eq(tasks.projectId, project.id),
        sql`${tasks.deletedAt} is null`,
        inArray(tasks.status, ['backlog', 'todo', 'in_progress', 'blocked', 'in_review']),
      ),
    )
    .groupBy(tasks.status)
  if (counts.length === 0) return undefined
  return {
    title: `Open in ${project.name}`,
    lines: [
      counts.map((c) => `${c.n} ${c.status}`).join(', '),
      ...items.map((t) => `- ${t.key} ${t.title} (${t.priority})`),
      ...(total && total > items.length ? [`- and ${total - items.length} more that can be started`] : []),
    ],
  }
}
