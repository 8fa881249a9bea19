import { eq, inArray, notInArray, type SQL, sql } from 'drizzle-orm'
import { type Ctx, write } from '../../../action.ts'
import { currentOrganization } from '../../../auth/actor.ts'
import { member } from '../../../auth/policy.ts'
import { rightsOf } from '../../../auth/rights.ts'
import { and } from '../../../db/conditions.ts'
import { projectOf } from '../../projects/current.ts'
import { requireOpenProject } from '../../projects/refusals.ts'
import { projects as projectTable } from '../../projects/table.ts'
import { taskClaimed, taskRenewed } from '../events.ts'
import { findTask, HIDDEN, keysIn, openWaiters, selectItems, taskEvent, toItem, withinProject } from '../rows.ts'
import type { NextTask, Task, TaskNext } from '../schema.ts'
import { tasks } from '../table.ts'
import {
  continueTask,
  findStartedTask,
  isInScope,
  otherHeldTasks,
  type PickSearch,
  whyContinue,
} from './continue-task.ts'
import { hintedToOthers, takeHint } from './hints.ts'
import { claimColumns } from './leases.ts'
import { openStatuses, pickGroups, urgency } from './pick-order.ts'
import { keepReason, reasonOf } from './reasons.ts'
import { namedWorker } from './workers.ts'

/** Claims the next task and explains the choice. `pick-order.ts` decides the order. */

const inGroup = (ctx: Ctx, { projectId, except }: PickSearch, which: SQL) =>
  ctx.db
    .select({ id: tasks.id })
    .from(tasks)
    .innerJoin(projectTable, eq(projectTable.id, tasks.projectId))
    .where(and(isInScope(ctx, projectId), which, except?.length ? notInArray(tasks.id, [...except]) : undefined))
    .$dynamic()

/** SQL for the id of the first task. `coalesce` runs a query only if those before it found nothing. */
function firstTaskId(ctx: Ctx, search: PickSearch, lock?: { skipLocked: boolean }): SQL<string | null> {
  const queries = pickGroups(ctx, search.holder).map(({ which, order }) => {
    const query = inGroup(ctx, search, which)
      .orderBy(...order)
      .limit(1)
    return sql`(${lock ? query.for('update', { of: tasks, skipLocked: lock.skipLocked as true }) : query})`
  })
  return sql<string | null>`coalesce(${sql.join(queries, sql`, `)})`
}

/** Claims a task in the statement that picks it, so that concurrent agents get different ones. */
async function claimFirst(
  ctx: Ctx,
  search: PickSearch,
  minutes: number | undefined,
  skipLocked: boolean,
): Promise<string | undefined> {
  const [row] = await ctx.db
    .update(tasks)
    .set(claimColumns(ctx, search.holder, minutes))
    .where(sql`${tasks.id} = ${firstTaskId(ctx, search, { skipLocked })}`)
    .returning({ id: tasks.id })
  return row?.id
}

async function peekFirst(ctx: Ctx, search: PickSearch): Promise<string | undefined> {
  const [row] = await ctx.db.select({ id: firstTaskId(ctx, search) }).from(sql`(select 1) one`)
  return row?.id ?? undefined
}

/** The second attempt waits for tasks that others have locked; `atOnce` skips it, for callers that hold locks too. */
const claimNextTask = async (
  ctx: Ctx,
  search: PickSearch,
  { minutes, atOnce }: PickOptions,
): Promise<string | undefined> =>
  (await claimFirst(ctx, search, minutes, true)) ??
  (!atOnce && (await peekFirst(ctx, search)) ? claimFirst(ctx, search, minutes, false) : undefined)

/**
 * Returns the next task of the project after a completion, and claims it on request. Without a claim, prefers a task
 * that was not just suggested to another worker.
 */
export async function nextAfter(ctx: Ctx, search: PickSearch, claim: boolean): Promise<NextTask> {
  const { holder } = search
  if (claim) return pickNext(ctx, search, { claim, atOnce: true })
  for (let tries = 0; ; tries++) {
    const except = hintedToOthers(ctx, holder)
    const next = await pickNext(ctx, { ...search, except }, { claim })
    if (!next.task || takeHint(ctx, holder, next.task.id, except) || tries === 5) return next
  }
}

type PickOptions = Pick<TaskNext, 'claim' | 'minutes'> & { atOnce?: boolean }

async function pickNext(ctx: Ctx, search: PickSearch, { claim, minutes, atOnce }: PickOptions): Promise<NextTask> {
  for (let begun = await findStartedTask(ctx, search); begun; begun = await findStartedTask(ctx, search)) {
    if (claim !== false && !(await continueTask(ctx, begun, search.holder, minutes))) continue
    const task = await findTask(ctx, begun.id)
    if (claim !== false) ctx.emit(taskRenewed, taskEvent(task, { holder: task.lease?.holder, lease: task.lease }))
    return { task, why: whyContinue(task, begun), waiting: [] }
  }
  const id =
    claim === false
      ? (search.except?.length && (await peekFirst(ctx, search))) ||
        (await peekFirst(ctx, { ...search, except: undefined }))
      : await claimNextTask(ctx, search, { minutes, atOnce })
  const busy = !id && atOnce ? await peekFirst(ctx, search) : undefined
  if (busy)
    return {
      task: null,
      why: `${(await findTask(ctx, busy)).key} is being changed right now. Call next_task again.`,
      waiting: [],
    }
  if (!id) {
    const none = await explainNone(ctx, search)
    const held = await otherHeldTasks(ctx, search, null)
    return { task: null, ...none, why: held ? `${none.why} ${held}.` : none.why }
  }
  const task = await findTask(ctx, id)
  const { said, kept } = await explainPick(ctx, task, { ...search, except: undefined }, claim !== false)
  const reason = [said, await otherHeldTasks(ctx, search, task)].filter(Boolean).join('. ')
  if (claim === false) return { task, why: reason, waiting: [] }
  ctx.emit(taskClaimed, taskEvent(task, { holder: task.lease?.holder, lease: task.lease }))
  return { task: keepReason(ctx, task, kept), why: reason, waiting: [] }
}

/** The exact number of other ready tasks does not matter above this. */
const MOST_COUNTED = 100

interface PickReason {
  /** For the caller. */
  said: string
  /** For everyone who sees the task: names only tasks of its own project. */
  kept: string
}

async function explainPick(ctx: Ctx, task: Task, search: PickSearch, isTaken: boolean): Promise<PickReason> {
  const all = pickGroups(ctx, search.holder).map(
    ({ which }) => sql`(${inGroup(ctx, search, which).limit(MOST_COUNTED)})`,
  )
  const { rows: others } = await ctx.db.execute(sql`${sql.join(all, sql` union `)} limit ${MOST_COUNTED}`)
  const ready = others.length + (isTaken ? 1 : 0)
  const many = others.length === MOST_COUNTED ? `at least ${MOST_COUNTED}` : ready
  const [waiting] = await ctx.db
    .select({ keys: openWaiters(rightsOf(ctx.actor)) })
    .from(tasks)
    .where(eq(tasks.id, task.id))
  const waiters = keysIn(waiting?.keys ?? null).filter((key) => key !== HIDDEN)
  const first = `${task.priority} priority${ready > 1 ? `, first of ${many} ready tasks` : ', the only ready task'}`
  const due = task.dueAt ? `due ${task.dueAt.slice(0, 10)}` : undefined
  const withWaiters = (keys: readonly string[]) => [first, due, waitingInWords(keys)].filter(Boolean).join('; ')
  const own = withinProject(task, waiters).filter((key) => key !== HIDDEN)
  return { said: withWaiters(waiters), kept: withWaiters(own) }
}

function waitingInWords(keys: readonly string[]): string | undefined {
  if (keys.length === 0) return undefined
  const named = keys.length > 5 ? `${keys.slice(0, 5).join(', ')} and ${keys.length - 5} more` : keys.join(', ')
  return `${named} wait${keys.length === 1 ? 's' : ''} for it`
}

/** Explains why there is no task; without a reason, agents would ask again and again. */
async function explainNone(ctx: Ctx, { projectId, holder }: PickSearch): Promise<Omit<NextTask, 'task'>> {
  const rows = await selectItems(ctx)
    .where(and(isInScope(ctx, projectId), inArray(tasks.status, openStatuses)))
    .orderBy(sql`${tasks.status} = 'backlog'`, urgency, tasks.position, tasks.id)
    .limit(10)
  const waiting = rows.map((row) => {
    const task = toItem(row, ctx.now)
    return { key: task.key, title: task.title, reason: reasonOf(task, holder) }
  })
  const where = projectId ? 'this project' : 'your team'
  const text =
    waiting.length === 0
      ? `There is no open task in ${where}. Create one with create_task or create_plan.`
      : `No task in ${where} can be started now: ${waiting
          .map((w) => `${w.key} ${w.reason}`)
          .slice(0, 3)
          .join('; ')}.`
  return { why: text, waiting }
}

export const pickNextTask = write(
  'tasks.next',
  member('tasks:write'),
  async (
    ctx,
    { projectRef, projectId, agent, sessionId, ...how }: TaskNext & { projectRef?: string },
  ): Promise<NextTask> => {
    const project = await projectOf(ctx, projectRef ?? projectId, sessionId)
    if (project) requireOpenProject(ctx, project, 'Working in this project')
    const holder = await namedWorker(ctx, project?.organizationId ?? currentOrganization(ctx.actor), {
      agent,
      sessionId,
    })
    return pickNext(ctx, { projectId: project?.id, holder }, how)
  },
)
