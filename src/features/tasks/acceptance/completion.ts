import { isDeepStrictEqual } from 'node:util'
import { type Ctx, checkVersion, write } from '../../../action.ts'
import { isInPerson } from '../../../auth/actor.ts'
import { throwIfRefused } from '../../../auth/policy.ts'
import { anyOf, idList } from '../../../db/columns.ts'
import { AppError, allOrNone, withSentence } from '../../../errors.ts'
import { findConsequences, lockForChange, statusColumns, stillOpen, storeTask } from '../change-task.ts'
import { lockNeighbours } from '../dependencies/neighbours.ts'
import { detailOf } from '../detail.ts'
import { taskCompleted, taskUpdated } from '../events.ts'
import { takenOverFrom } from '../leases/leases.ts'
import { nextAfter } from '../leases/next.ts'
import { callingWorker, type Worker, workerIn } from '../leases/workers.ts'
import type { CompletedMany, CompleteMany } from '../many/many-schema.ts'
import { refusals, taskWriteRule } from '../refusals.ts'
import { findWithProject, taskEvent, withinProject } from '../rows.ts'
import type { Task, TaskChanged, TaskComplete, TaskCompleted } from '../schema.ts'
import { tasks } from '../table.ts'
import { inQuotes, tickAccepted } from './acceptance.ts'
import { withNotes } from './completion-notes.ts'
import { storeEvidence } from './evidence.ts'

export const complete = write(
  'tasks.complete',
  taskWriteRule,
  async (ctx, { ref, claimNext, ...how }: TaskComplete & { ref: string }): Promise<TaskCompleted> => {
    const by = callingWorker(ctx)
    const done = await finish(ctx, ref, how, by)
    return { ...done, ...(await pickNextAfter(ctx, done, by, claimNext)) }
  },
  { idempotent: true, versioned: true, undoable: true },
)

/**
 * Completes several tasks in the given order, all or none. Notes at the top apply to each of them. A tool may name the
 * session of its worker.
 */
export const completeMany = write(
  'tasks.completeMany',
  taskWriteRule,
  async (
    ctx,
    { tasks: wanted, claimNext, sessionId, ...shared }: CompleteMany & { sessionId?: string },
  ): Promise<CompletedMany> => {
    const by = await workerIn(ctx, sessionId)
    const list = wanted.map((one) => ({ ...shared, ...(typeof one === 'string' ? { task: one } : one) }))
    const items = await allOrNone(list.length, 'changed', () => finishAll(ctx, list, by))
    return { items, ...(await pickNextAfter(ctx, items.at(-1) as CompletionResult, by, claimNext)) }
  },
  { idempotent: true, undoable: true },
)

type CompletionInput = Omit<TaskComplete, 'claimNext'> & { task: string }

/** Completes the tasks in this order. A refusal for open criteria lists those of all tasks. */
async function finishAll(ctx: Ctx, list: readonly CompletionInput[], by: Worker): Promise<CompletionResult[]> {
  const found = await Promise.all(list.map(({ task }) => findWithProject(ctx, task)))
  // Locks in one step what the single completions would lock one after another, so that two calls cannot deadlock.
  await lockNeighbours(ctx, anyOf(tasks.id, idList(found.map(({ task }) => task.id))), [])
  const items: CompletionResult[] = []
  const open: { key: string; error: AppError }[] = []
  for (const [i, { task, ...how }] of list.entries())
    try {
      items.push(await finish(ctx, task, how, by))
    } catch (error) {
      if (error instanceof AppError && error.code === 'conflict.acceptance_open')
        open.push({ key: found[i]?.task.key as string, error })
      // A task that waits for one with open criteria is refused only because of that one.
      else if (open.length === 0) throw error
    }
  const [first, ...others] = open
  if (!first) return items
  const also = others.map(({ key, error }) => `${key} ${inQuotes(error.details.open ?? [])}`)
  throw also.length > 0 ? withSentence(first.error, `Also open: ${also.join('; ')}.`) : first.error
}

type CompletionResult = TaskChanged & Pick<TaskCompleted, 'already' | 'takenOver'>

async function finish(
  ctx: Ctx,
  ref: string,
  { force, accepted, ...said }: Omit<TaskComplete, 'claimNext'>,
  by: Worker,
): Promise<CompletionResult> {
  if (force && !isInPerson(ctx.actor))
    throw new AppError(
      'forbidden',
      'Only a person can complete a blocked task. Complete its blockers first, or ask a person.',
    )
  const found = await findWithProject(ctx, ref)
  const { task: before } = found
  const acceptance = tickAccepted(before.acceptance, accepted)
  throwIfRefused(refusals.complete(ctx, found, { force, acceptance, by }))
  checkVersion(ctx, before)
  const open = before.blockedBy
  const completionNotes = withNotes(before.completionNotes, said)
  const set = {
    ...statusColumns(ctx, found, 'done', acceptance),
    ...(completionNotes !== undefined && { completionNotes }),
    ...(!isDeepStrictEqual(acceptance, before.acceptance) && { acceptance }),
  }
  await lockForChange(ctx, before, set)
  const changed = Object.keys(set).length > 0 ? await storeTask(ctx, before, set) : before
  await storeEvidence(ctx, before.id, said.evidence ?? [], said.notes?.trim() || 'Completed')
  const already = before.status === 'done' ? (changed === before ? 'unchanged' : 'added') : undefined
  const forced = force && open.length > 0 && { forced: true, openBlockers: withinProject(before, open) }
  if (already === 'added') ctx.emit(taskUpdated, taskEvent(changed, { fields: Object.keys(set) }, before))
  if (!already) ctx.emit(taskCompleted, taskEvent(changed, { from: before.status, ...forced }, before))
  return {
    ...changed,
    ...stillOpen(changed),
    ...(already && { already }),
    ...takenOverFrom(found, by),
    ...(await findConsequences(ctx, found, changed)),
  }
}

/** Returns the next task of the project; claimed and in full if the caller asked for it. */
async function pickNextAfter(
  ctx: Ctx,
  { projectId }: Task,
  holder: Worker,
  claimNext = false,
): Promise<Pick<TaskCompleted, 'next' | 'claimed' | 'noNext'>> {
  const { task, why } = await nextAfter(ctx, { projectId, holder }, claimNext)
  const next = task && { key: task.key, title: task.title, createdById: task.createdById, why }
  if (!claimNext) return { next }
  return task ? { next, claimed: await detailOf(ctx, task.id) } : { next, noNext: why }
}
