import { and, desc, eq, inArray, isNull, lte, or, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { rightsOf } from '../../auth/rights.ts'
import { daysAfter } from '../../records/days.ts'
import { mayRead } from '../../records/readable.ts'
import { currentUserOrAgent } from '../agents/users-and-agents.ts'
import type { Project } from '../projects/schema.ts'
import { callingWorker, isHeldBy } from '../tasks/leases/workers.ts'
import { selectItems, visibleTo } from '../tasks/rows.ts'
import * as taskService from '../tasks/service.ts'
import { tasks } from '../tasks/table.ts'
import { changesIn, type Since } from './changes.ts'
import { ownTasks, projectsWithWork } from './overview.ts'
import { DEFAULT_TOKENS, packParts } from './pack.ts'
import {
  decisionsPart,
  doneWorkPart,
  heldByOthersPart,
  inReviewPart,
  type LiveTask,
  leftOffPart,
  memoriesPart,
  openQuestionsPart,
  readyTasksPart,
  taskPart,
  type Worker,
} from './parts.ts'
import { type Row, toSession } from './rows.ts'
import type { Brief, Session, SessionBrief } from './schema.ts'

interface BriefRequest {
  session: Session | undefined
  project: Project | undefined
  worker: Worker
  since: Since
  /** The caller asks for recent changes. */
  isWanted?: boolean
  tokens?: number
}

export const sinceYesterday = ({ now }: Ctx): Since => ({ at: daysAfter(now, -1) })

interface Subject {
  row: Row | undefined
  project: Project | undefined
  since?: Since
  /** The caller asks for recent changes. */
  isWanted?: boolean
  /** The credential that its worker used before. */
  before?: string | null
  tokens?: number
}

/** Writes the brief of a session, a project, or both; without either, an overview of the caller's team. */
export const writeBrief = (ctx: Ctx, subject: Subject): Promise<Brief> => briefOf(ctx, briefRequestFor(ctx, subject))

function briefRequestFor(ctx: Ctx, { row, project, since, before = null, tokens, isWanted }: Subject): BriefRequest {
  const session = row && toSession(row)
  const { type, id } = session?.agentId ? ({ type: 'agent', id: session.agentId } as const) : currentUserOrAgent(ctx)
  return {
    session,
    project,
    worker: { type, id, credentials: [ctx.actor.credentialId, row?.credentialId ?? null, before] },
    since: since ?? (row ? { seq: row.seenSeq } : sinceYesterday(ctx)),
    isWanted,
    tokens,
  }
}

/** Leaves out the texts, which are in the brief. */
export const withBrief = (
  { goals: _, context: __, checkpoint: ___, summary: ____, ...head }: Session,
  brief: Brief,
): SessionBrief => ({
  ...head,
  brief,
})

/** Collects the context that a worker needs to continue. Leaves out everything that the caller may not read now. */
async function briefOf(ctx: Ctx, asked: BriefRequest): Promise<Brief> {
  const { session, project, tokens = DEFAULT_TOKENS } = asked
  const tasksToo = mayRead(ctx, 'task')
  const decisionsToo = mayRead(ctx, 'decision')
  const task = tasksToo ? await liveTask(ctx, asked) : undefined
  const changes = project && (await changesIn(ctx, project, asked))
  const left = session && leftOffPart(session)
  const ready = project && tasksToo ? await readyTasksPart(ctx, project, task) : undefined
  // The next step comes first, recent changes come last.
  const saved = session?.checkpoint?.nextStep !== undefined
  return packParts(
    [
      saved ? left : undefined,
      task ? await taskPart(ctx, task, session) : ready,
      saved ? undefined : left,
      !project && tasksToo ? await ownTasks(ctx, task) : undefined,
      await openQuestionsPart(ctx, { session, project, tasksToo, decisionsToo }),
      // A session with a task needs no list of projects.
      !project && !(session && task) && mayRead(ctx, 'project') ? await projectsWithWork(ctx) : undefined,
      project && decisionsToo ? await decisionsPart(ctx, project) : undefined,
      project && mayRead(ctx, 'memory') ? await memoriesPart(ctx, project, session, task) : undefined,
      task ? ready : undefined,
      project && tasksToo ? await heldByOthersPart(ctx, project, task) : undefined,
      project && mayRead(ctx, 'feature') ? await inReviewPart(ctx, project) : undefined,
      project && tasksToo ? await doneWorkPart(ctx, project, changes?.subjects ?? new Set()) : undefined,
      changes?.part,
    ],
    tokens,
  )
}

/** Writes what others changed in the session's project since the last checkpoint: the worker knows its own changes. */
export async function writeChangesBrief(
  ctx: Ctx,
  { row, project, since, tokens = DEFAULT_TOKENS }: Subject,
): Promise<Brief> {
  const asked = { ...briefRequestFor(ctx, { row, project, since }), onlyOthers: true }
  return packParts([project && (await changesIn(ctx, project, asked)).part], tokens)
}

/** Returns the session's task; otherwise one that its worker has claimed, or worked on when the claim expired. */
async function liveTask(ctx: Ctx, { session, project, worker }: BriefRequest): Promise<LiveTask | undefined> {
  const held = isHeldBy({ ...callingWorker(ctx), type: worker.type, id: worker.id }, ctx.now)
  const begun = and(
    eq(tasks.assigneeType, worker.type),
    eq(tasks.assigneeId, worker.id),
    eq(tasks.status, 'in_progress'),
    // Another window of the same agent may be working on it.
    or(isNull(tasks.leaseExpiresAt), lte(tasks.leaseExpiresAt, ctx.now)),
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
  if (!found) return undefined
  const isHeld = (await ctx.db.$count(tasks, and(eq(tasks.id, found.id), held))) > 0
  return { ...(await taskService.getDetail(ctx, { ref: found.id })), isHeld }
}
