import { isDeepStrictEqual } from 'node:util'
import { and, eq, isNull } from 'drizzle-orm'
import { type Ctx, write } from '../../action.ts'
import { AppError } from '../../errors.ts'
import { visibleBlockers } from '../tasks/dependencies/dependencies.ts'
import { taskWriteRule } from '../tasks/refusals.ts'
import { findWithProject, HIDDEN } from '../tasks/rows.ts'
import type { Task } from '../tasks/schema.ts'
import { update } from '../tasks/service.ts'
import { type FieldName, type Fields, namesIn, type Outcome, valuesOf } from './fields.ts'
import { changeItems } from './table.ts'

type Item = typeof changeItems.$inferSelect
type Part = readonly FieldName[]
type Place = Pick<Item, 'changeId' | 'id'>

const isAt = ({ changeId, id }: Place) => and(eq(changeItems.changeId, changeId), eq(changeItems.id, id))

/**
 * Restores one task of a change, once: a second caller waits for the first and gets the same outcome. Refused fields
 * keep their value. If some fields are refused, the others are restored without them.
 */
export async function restoreTask(ctx: Ctx, item: Place & Pick<Item, 'taskId' | 'after'>): Promise<Outcome> {
  const names = namesIn(item.after)
  try {
    return await retryConflicts(() => restoreFields(ctx, { at: item, names, isWhole: true }))
  } catch (error) {
    const { key, refusal } = await describeRefusal(ctx, item.taskId, error)
    const outcome: Outcome = { key, restored: [], kept: [] }
    for (const part of key === null ? [names] : partsOf(names)) {
      const done = await restorePart(ctx, item, part, key === null ? refusal : undefined)
      outcome.restored.push(...done.restored)
      outcome.kept.push(...done.kept)
    }
    return storeOutcome(ctx, { at: item, outcome })
  }
}

async function restorePart(
  ctx: Ctx,
  item: Place & Pick<Item, 'taskId'>,
  part: Part,
  refusal: string | undefined,
): Promise<Outcome> {
  try {
    if (refusal === undefined) return await retryConflicts(() => restoreFields(ctx, { at: item, names: part }))
  } catch (error) {
    refusal = (await describeRefusal(ctx, item.taskId, error)).refusal
  }
  return { key: null, restored: [], kept: [{ fields: [...part], reason: refusal as string }] }
}

/** The state takes ticks and notes along: they belong to the completion of the task. */
const withState: Part = ['status', 'acceptance', 'completionNotes']

const partsOf = (names: Part): Part[] =>
  names.includes('status')
    ? [names.filter((name) => withState.includes(name)), ...partsOf(names.filter((name) => !withState.includes(name)))]
    : names.map((name) => [name])

/** Repeats a change that met another one of the same task. */
async function retryConflicts<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++)
    try {
      return await work()
    } catch (error) {
      if (attempt === 5 || !(error instanceof AppError) || error.code !== 'version_mismatch') throw error
    }
}

/** Throws what is no refusal. The key is null if the person no longer sees the task. */
async function describeRefusal(ctx: Ctx, taskId: string, error: unknown) {
  if (!(error instanceof AppError) || error.status >= 500) throw error
  try {
    return { key: (await findWithProject(ctx, taskId)).task.key, refusal: error.message }
  } catch (missing) {
    if (!(missing instanceof AppError) || missing.code !== 'not_found') throw missing
    return { key: null, refusal: 'The task was deleted, or you no longer have access to it.' }
  }
}

const restoreFields = write(
  'changes.restoreFields',
  taskWriteRule,
  async (ctx, { at, names, isWhole }: { at: Place; names: Part; isWhole?: true }): Promise<Outcome> => {
    const [item] = await ctx.db.select().from(changeItems).where(isAt(at)).for('update')
    if (!item) throw new AppError('not_found', 'This change can no longer be undone.')
    if (item.outcome) return item.outcome
    const { task } = await findWithProject(ctx, item.taskId)
    const blockers = names.includes('blockedBy') ? await visibleBlockers(ctx, task.id) : undefined
    const { outcome, values } = planRestore(item, task, { names, current: valuesOf(task, blockers) })
    if (namesIn(values).length > 0) await writeBack(ctx, task, item, values)
    if (isWhole) await ctx.db.update(changeItems).set({ outcome }).where(isAt(at))
    return outcome
  },
  { bookkeeping: true },
)

const storeOutcome = write(
  'changes.storeOutcome',
  taskWriteRule,
  async (ctx, { at, outcome }: { at: Place; outcome: Outcome }): Promise<Outcome> => {
    await ctx.db
      .update(changeItems)
      .set({ outcome })
      .where(and(isAt(at), isNull(changeItems.outcome)))
    const [stored] = await ctx.db.select({ outcome: changeItems.outcome }).from(changeItems).where(isAt(at))
    return stored?.outcome ?? outcome
  },
  { bookkeeping: true },
)

/** Decides which fields get their former values: those that still have the value that the change gave them. */
function planRestore(
  { before, after, freed }: Item,
  task: Task,
  { names, current }: { names: Part; current: Fields },
): { outcome: Outcome; values: Fields } {
  const outcome: Outcome = { key: task.key, restored: [], kept: [] }
  const keep = (fields: Part, reason: string) => void outcome.kept.push({ fields: [...fields], reason })
  if (freed) {
    const reason = reasonToStayFree(task)
    if (reason) keep(['status'], reason)
    if (reason || before.status === after.status) return { outcome, values: {} }
  }
  const isBack = (name: FieldName) => isDeepStrictEqual(current[name], before[name])
  const isSame = (name: FieldName) => isDeepStrictEqual(current[name], after[name])
  outcome.restored = names.filter((name) => isBack(name) || isSame(name))
  const changed = names.filter((name) => !outcome.restored.includes(name))
  if (changed.length > 0) keep(changed, 'It was changed again meanwhile.')
  const values = names.filter((name) => isSame(name) && !isBack(name)).map((name) => [name, before[name]])
  return { outcome, values: Object.fromEntries(values) }
}

/** Returns why a task that was unblocked does not wait again. */
const reasonToStayFree = ({ lease, blockedBy }: Task): string | undefined => {
  if (lease) return `${lease.holder.name} claimed it meanwhile. The claim stays.`
  return blockedBy.length === 0 ? 'No open task blocks it.' : undefined
}

async function writeBack(ctx: Ctx, { id }: Task, { before }: Item, values: Fields): Promise<void> {
  const { position, completionNotes, blockedBy, ...plain } = values
  const { startedAt, completedAt, lastCheckpoint } = before
  await update(ctx, {
    ref: id,
    ...plain,
    ...(blockedBy && { blockedBy: [...blockedBy, HIDDEN] }),
    keepTicks: true,
    former: {
      ...('position' in values && { position }),
      ...('completionNotes' in values && { completionNotes }),
      ...('status' in values && {
        ...('startedAt' in before && { startedAt }),
        ...('completedAt' in before && { completedAt }),
        ...('lastCheckpoint' in before && { lastCheckpoint }),
      }),
    },
  })
}
