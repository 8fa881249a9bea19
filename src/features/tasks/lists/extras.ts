import { type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../../action.ts'
import { NO_USER_ID } from '../../../auth/actor.ts'
import { isClosed } from '../../../records/task-states.ts'
import { splitList } from '../../../schema.ts'
import { notifications } from '../../notifications/table.ts'
import { flaggedTasks } from '../hooks.ts'
import { isReadyTask } from '../leases/pick-order.ts'
import { isStalled } from '../leases/stalled.ts'
import { type ItemRow, toItem } from '../rows.ts'
import type { TaskItem } from '../schema.ts'
import { tasks } from '../table.ts'
import { type TaskFlag, taskFlags } from './extras-schema.ts'

/** How many flags a task shows. */
const MOST_FLAGS = 2

/** SQL condition: the caller has an open notification about the task for one of these reasons. */
const hasNotice = (userId: string, reasons: readonly string[]): SQL =>
  sql`exists (select from ${notifications} n where n.record_id = ${tasks.id} and n.user_id = ${userId}::uuid
    and n.inbox and n.done_at is null and n.reason = any(${`{${reasons.join(',')}}`}::text[]))`

/** THE RULE which flags a task has for the caller. Upper features add theirs by the hook `flaggedTasks`. */
const flagsOf = ({ actor, now }: Ctx): [TaskFlag, SQL | undefined][] => {
  const userId = actor.userId ?? NO_USER_ID
  const isOpen = sql`${tasks.status} not in ('done', 'cancelled')`
  return [
    ['asks_you', sql`${isOpen} and ${hasNotice(userId, ['question'])}`],
    [
      'waits_for_you',
      sql`${isOpen} and (${hasNotice(userId, ['review', 'mention'])}
        or (${tasks.status} = 'in_review' and ${tasks.assigneeId} = ${userId}::uuid))`,
    ],
    ['stalled', isStalled(now)],
    ['ready', isReadyTask(now)],
  ]
}

/** Returns the flags that upper features know, in one statement. */
async function addedFlags(ctx: Ctx, items: readonly TaskItem[]): Promise<Map<string, Set<TaskFlag>>> {
  const open = items.filter(({ status }) => !isClosed(status))
  const flags = new Map(open.map(({ id }) => [id, new Set<TaskFlag>()]))
  if (open.length === 0) return flags
  const queries = (await flaggedTasks.call(ctx, { tasks: open })).filter((one) => one !== undefined)
  if (queries.length === 0) return flags
  const parts = queries.map(({ flag, ids }) => sql`select ${flag}::text as flag, flagged.id from (${ids}) flagged(id)`)
  const { rows } = await ctx.db.execute<{ flag: TaskFlag; id: string }>(sql.join(parts, sql` union all `))
  for (const { flag, id } of rows) flags.get(id)?.add(flag)
  return flags
}

/** What a list adds to each task: SQL for the columns to select with the items, and how to read them. */
export interface Extras {
  columns: Record<string, SQL>
  read(row: ItemRow): TaskItem
  /** Adds the flags that upper features know, of all groups of a list together. */
  complete(items: readonly TaskItem[]): Promise<TaskItem[]>
}

/** Parses what the caller asked for: flags, the progress of parts, how many tasks each one frees. */
export function extrasOf(ctx: Ctx, list: string | undefined): Extras {
  const wanted = new Set(splitList(list))
  const columns = {
    ...(wanted.has('flags') && { flags: ownFlags(ctx) }),
    ...(wanted.has('parts') && { parts: progressOfParts }),
    // The number of a closed task says how many waited when it was closed.
    ...(wanted.has('frees') && {
      frees: sql`case when ${tasks.status} in ('done', 'cancelled') then 0 else ${tasks.openWaiters} end`,
    }),
  }
  return {
    columns,
    read: (row) => {
      const { flags, parts, frees } = row as ItemRow & { flags?: string; parts?: string; frees?: number }
      const [done = 0, total = 0] = (parts ?? '').split(',').map(Number)
      return {
        ...toItem(row, ctx.now),
        ...(wanted.has('flags') && { flags: splitList<TaskFlag>(flags) }),
        ...(wanted.has('parts') && { parts: total > 0 ? { done, total } : null }),
        ...(wanted.has('frees') && { freesCount: frees ?? 0 }),
      }
    },
    complete: async (items) => {
      if (!wanted.has('flags') || items.length === 0) return [...items]
      const added = await addedFlags(ctx, items)
      return items.map((item) => {
        const all = new Set([...(item.flags ?? []), ...(added.get(item.id) ?? [])])
        return { ...item, flags: taskFlags.filter((flag) => all.has(flag)).slice(0, MOST_FLAGS) }
      })
    },
  }
}

const ownFlags = (ctx: Ctx): SQL => {
  const chosen = flagsOf(ctx).map(([name, which]) => sql`case when ${which ?? sql`false`} then ${name}::text end`)
  return sql`concat_ws(',', ${sql.join(chosen, sql`, `)})`
}

const progressOfParts = sql`(select count(*) filter (where p.status = 'done') || ',' || count(*) from ${tasks} p
  where p.parent_id = ${tasks}.id and p.deleted_at is null and p.status <> 'cancelled')`
