import { eq, type SQL, sql } from 'drizzle-orm'
import { attempt, type Ctx, flow, write } from '../../../action.ts'
import { rightsOf } from '../../../auth/rights.ts'
import { anyOf, idList } from '../../../db/columns.ts'
import { and } from '../../../db/conditions.ts'
import { AppError } from '../../../errors.ts'
import { isId } from '../../../records/reference.ts'
import { currentUserOrAgent } from '../../agents/users-and-agents.ts'
import { projects } from '../../projects/table.ts'
import { lockNeighbours } from '../dependencies/neighbours.ts'
import { taskWriteRule } from '../refusals.ts'
import { foundColumns, toFound, visibleTo } from '../rows.ts'
import { type KnownTask, update } from '../service.ts'
import { taskDependencies, tasks as taskTable } from '../table.ts'
import type { ChangedMany, ChangeMany } from './many-schema.ts'
import { type BatchNotices, mergeNotices, sendNotices } from './notices.ts'

export type BatchResult = ChangedMany['items'][number]

/** How many tasks one transaction changes. More would let other writers wait for too long. */
export const STEP = 25

/**
 * Makes one change to several tasks, some in each transaction: failed changes return a reason, and the others are made.
 * With an idempotency key, every transaction has a key of its own, so that a repeated call continues.
 */
export const changeMany = flow(
  'tasks.changeMany',
  taskWriteRule,
  async (ctx, { tasks, change }: ChangeMany, { idempotencyKey }): Promise<ChangedMany> => {
    const keyed = (part: string): Ctx => ({
      ...ctx,
      idempotencyKey:
        idempotencyKey && new Bun.CryptoHasher('sha256').update(`${idempotencyKey}\n${part}`).digest('hex'),
    })
    const all: StepResult = { items: [], notices: {} }
    for (let from = 0; from < tasks.length; from += STEP) {
      const { items, notices } = await changeStep(keyed(String(from)), {
        tasks: tasks.slice(from, from + STEP),
        change,
      })
      all.items.push(...items)
      mergeNotices(all.notices, notices)
    }
    if (Object.keys(all.notices).length > 0) await notifyBatch(keyed('notices'), all.notices)
    return { items: all.items }
  },
  { undoable: true },
)

/** The changes of one transaction, and the people to notify when the batch is complete. */
interface StepResult {
  items: BatchResult[]
  notices: BatchNotices
}

const changeStep = write('tasks.changeStep', taskWriteRule, (ctx, input: ChangeMany) => changeEach(ctx, input), {
  bookkeeping: true,
})

const notifyBatch = write(
  'tasks.notifyBatch',
  taskWriteRule,
  async (ctx, notices: BatchNotices): Promise<void> =>
    sendNotices(ctx, notices, { name: currentUserOrAgent(ctx).name, id: null }),
  { bookkeeping: true },
)

/** A task that the batch read before its turn. */
interface TaskAhead extends KnownTask {
  /** It waits for another task of the batch, open or closed, or another one waits for it. */
  isTied: boolean
}

/** Changes the tasks one after the other in the caller's transaction. A refused change is undone alone. */
export async function changeEach(ctx: Ctx, { tasks, change }: ChangeMany): Promise<StepResult> {
  const found = readsAhead(change) ? await findAll(ctx, tasks, change) : new Map<string, TaskAhead>()
  const items: BatchResult[] = []
  const notices: BatchNotices = {}
  for (const { id, ifMatch } of tasks) {
    const own: Ctx = { ...ctx, expectedVersion: ifMatch }
    const input = { ...change, ref: id, notices }
    const known = found.get(id)
    const changeIt = () =>
      attempt(ctx, () => update(own, { ...input, known })).catch((error: unknown) => {
        // Somebody changed the task after it was read; the caller asked for no version, so this is no conflict.
        if (!known || ifMatch !== undefined || !isVersionMismatch(error)) throw error
        return attempt(ctx, () => update(own, input))
      })
    items.push(
      await changeIt().then(({ freed: _, blocked: __, openCriteria: ___, ...task }) => ({ id, task }), refusalOf(id)),
    )
    if (change.status) forgetTied(found, known)
  }
  return { items, notices }
}

/**
 * A change of the parent, or of state and blockers together, may change other tasks of the batch in many ways. A change
 * to a story locks the project, which must be locked before the tasks.
 */
const readsAhead = ({ parentId, storyId, status, addBlockedBy, removeBlockedBy }: ChangeMany['change']): boolean =>
  parentId === undefined && !(status && (storyId ?? addBlockedBy ?? removeBlockedBy))

/** Forgets the tasks that wait for another one of the batch or are waited for: they are read again at their turn. */
function forgetTied(found: Map<string, TaskAhead>, known: TaskAhead | undefined): void {
  if (!known) found.clear()
  else if (known.isTied) for (const [id, { isTied }] of found) if (isTied) found.delete(id)
}

const isVersionMismatch = (error: unknown): boolean => error instanceof AppError && error.code === 'version_mismatch'

/**
 * Reads the tasks that the batch names by id, with one statement. A change of the state may unblock or block others, so
 * it first locks the tasks and those next to them, all at once.
 */
async function findAll(ctx: Ctx, tasks: ChangeMany['tasks'], { status }: ChangeMany['change']) {
  const rights = rightsOf(ctx.actor)
  const ids = tasks.map(({ id }) => id).filter(isId)
  const isNamed = anyOf(taskTable.id, idList(ids))
  if (status) await lockNeighbours(ctx, and(isNamed, anyOf(taskTable.organizationId, rights.reach)))
  const rows = await ctx.db
    .select({
      ...foundColumns(rights),
      openWaiters: taskTable.openWaiters,
      isTied: status ? isTiedTo(ids) : sql<boolean>`false`,
    })
    .from(taskTable)
    .innerJoin(projects, eq(projects.id, taskTable.projectId))
    .where(and(isNamed, visibleTo(rights)))
  // A task that is named twice has another version at its second turn.
  const once = rows.filter(({ task }) => ids.indexOf(task.id) === ids.lastIndexOf(task.id))
  return new Map(
    once.map(({ openWaiters, isTied, ...row }): [string, TaskAhead] => [
      row.task.id,
      { ...toFound(row, ctx.now), isTied, ...(status && { locked: { openWaiters } }) },
    ]),
  )
}

/** SQL condition: the task waits for one of these, or one of these waits for it. */
const isTiedTo = (ids: readonly string[]): SQL<boolean> =>
  sql<boolean>`exists (select from ${taskDependencies} d where d.kind = 'blocks'
    and ((d.task_id = ${taskTable.id} and d.blocked_by_id = any(${idList(ids)}::uuid[]))
      or (d.blocked_by_id = ${taskTable.id} and d.task_id = any(${idList(ids)}::uuid[]))))`

/** Returns why a task was not changed; throws if the server failed. */
const refusalOf =
  (id: string) =>
  (error: unknown): BatchResult => {
    if (!(error instanceof AppError) || error.status >= 500) throw error
    return { id, problem: { code: error.code, status: error.status, detail: error.message } }
  }
