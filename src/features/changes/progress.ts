import { eq, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { rightsOf } from '../../auth/rights.ts'
import { anyOf, idList } from '../../db/columns.ts'
import { and } from '../../db/conditions.ts'
import { selectItems, toItem, visibleTo } from '../tasks/rows.ts'
import { tasks } from '../tasks/table.ts'
import { changeProgressed } from './events.ts'
import type { Change, ChangeProgress } from './schema.ts'
import { changeItems, changes } from './table.ts'
import { type ChangeRow, findChange } from './visible.ts'

/** Adds what was changed to the label: the key of the task, or how many tasks. */
export async function describeChanges(ctx: Ctx, rows: readonly ChangeRow[]): Promise<Change[]> {
  const { rows: counts } = await ctx.db.execute<{ id: string; tasks: number; first: string }>(sql`
    select ${changeItems.changeId} as id, count(distinct ${changeItems.taskId})::int as tasks,
      min(${changeItems.taskId}::text) as first
    from ${changeItems} where ${anyOf(changeItems.changeId, idList(rows.map(({ id }) => id)))}
      and not ${changeItems.freed} group by ${changeItems.changeId}`)
  const known = new Map(counts.map((one) => [one.id, one]))
  const single = counts.filter((one) => one.tasks === 1).map(({ first }) => first)
  const shown = await selectItems(ctx).where(and(anyOf(tasks.id, idList(single)), visibleTo(rightsOf(ctx.actor))))
  const keys = new Map(shown.map((row) => [row.id, toItem(row, ctx.now).key]))
  return rows.map((row) => {
    const { tasks: n, first } = known.get(row.id) ?? { tasks: 0, first: '' }
    const what = n === 1 ? (keys.get(first) ?? '1 task') : `${n} tasks`
    return { ...row, tasks: n, label: `${what}: ${row.label}` }
  })
}

/** Returns a change with how far it is. */
export async function findProgress(ctx: Ctx, id: string): Promise<ChangeProgress> {
  const [change] = await describeChanges(ctx, [await findChange(ctx, id)])
  const { state, tasks: changed } = change as Change
  const [row] = await ctx.db
    .select({
      total: sql<number | null>`cardinality(${changes.targets})`,
      done: changes.done,
      refused: changes.refused,
      problems: changes.problems,
      stoppedBecause: changes.stoppedBecause,
      restored: countRestored,
    })
    .from(changes)
    .where(eq(changes.id, id))
  const { total = null, done = 0, refused = 0, problems = null, stoppedBecause = null, restored = 0 } = row ?? {}
  return {
    ...(change as Change),
    running: state === 'running' || state === 'undoing',
    total: total ?? changed,
    done: total === null ? changed : done,
    refused,
    restored,
    problems: problems ?? [],
    stoppedBecause,
  }
}

/** Without drizzle's columns: it leaves out their tables in a query over one table. */
const countRestored = sql<number>`(select count(distinct i.task_id)::int from ${changeItems} i
  where i.change_id = ${changes}.id and i.outcome is not null and not i.freed)`

interface Step {
  id: string
  userId: string
  state: string
  total: number
  done: number
  refused: number
  restored?: number
}

/** How many events one change emits, beside the last: rows of events stay for a year. */
const EVENTS = 20

/** Tells the person how far the change is. `before`: of how many tasks it had told them. */
export function emitProgress(ctx: Ctx, { id, userId, restored = 0, ...step }: Step, at: number, before: number): void {
  const part = Math.max(1, Math.floor(step.total / EVENTS))
  if (Math.floor(at / part) === Math.floor(before / part) && at < step.total && isAtWork(step.state)) return
  ctx.emit(changeProgressed, { subjectId: id, userId, data: { ...step, restored } })
}

const isAtWork = (state: string): boolean => state === 'running' || state === 'undoing'
