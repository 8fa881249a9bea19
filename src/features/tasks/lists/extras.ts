import { type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../../action.ts'
import { NO_USER_ID } from '../../../auth/actor.ts'
import { anyOf, idList } from '../../../db/columns.ts'
import { isClosed } from '../../../records/task-states.ts'
import { splitList } from '../../../schema.ts'
import { notifications } from '../../notifications/table.ts'
import { flaggedTasks } from '../hooks.ts'
import { isReadyTask } from '../leases/pick-order.ts'
import { isStalled } from '../leases/stalled.ts'
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

/** Returns the flags that upper features know: one query for each of them, whatever the number of tasks. */
async function addedFlags(ctx: Ctx, items: readonly TaskItem[]): Promise<Map<string, Set<TaskFlag>>> {
  const flags = new Map<string, Set<TaskFlag>>()
  const open = items.filter(({ status }) => !isClosed(status))
  if (open.length === 0) return flags
  for (const { id } of open) flags.set(id, new Set())
  for (const { flag, ids } of await flaggedTasks.callTogether(ctx, { tasks: open }))
    for (const id of ids) flags.get(id)?.add(flag)
  return flags
}

/** Adds to the items what the caller asked for: flags, the progress of parts, how many tasks each one frees. */
export async function withExtras(ctx: Ctx, items: readonly TaskItem[], list: string | undefined): Promise<TaskItem[]> {
  const wanted = new Set(splitList(list))
  if (wanted.size === 0 || items.length === 0) return [...items]
  const ids = idList(items.map(({ id }) => id))
  const flags = wanted.has('flags') ? flagsOf(ctx) : []
  const chosen = flags.map(([name, which]) => sql`case when ${which ?? sql`false`} then ${name}::text end`)
  const rows = ctx.db
    .select({
      id: tasks.id,
      // The number of a closed task says how many waited when it was closed.
      frees: sql<number>`case when ${tasks.status} in ('done', 'cancelled') then 0 else ${tasks.openWaiters} end`,
      flags: sql<string>`${chosen.length > 0 ? sql`concat_ws(',', ${sql.join(chosen, sql`, `)})` : sql`''`}`,
      parts: wanted.has('parts')
        ? sql<string>`(select count(*) filter (where p.status = 'done') || ',' || count(*) from ${tasks} p
            where p.parent_id = ${tasks}.id and p.deleted_at is null and p.status <> 'cancelled')`
        : sql<string>`''`,
    })
    .from(tasks)
    .where(anyOf(tasks.id, ids))
  const [own, added] = await Promise.all([rows, wanted.has('flags') ? addedFlags(ctx, items) : undefined])
  const found = new Map(own.map((row) => [row.id, row]))
  const shownFlags = (id: string) => {
    const all = new Set([...splitList<TaskFlag>(found.get(id)?.flags), ...(added?.get(id) ?? [])])
    return taskFlags.filter((flag) => all.has(flag)).slice(0, MOST_FLAGS)
  }
  return items.map((item) => {
    const row = found.get(item.id)
    const [done = 0, total = 0] = (row?.parts ?? '').split(',').map(Number)
    return {
      ...item,
      ...(wanted.has('flags') && { flags: shownFlags(item.id) }),
      ...(wanted.has('parts') && { parts: total > 0 ? { done, total } : null }),
      ...(wanted.has('frees') && { freesCount: row?.frees ?? 0 }),
    }
  })
}
