import { desc, eq, gt, ne, type SQL, sql } from 'drizzle-orm'
import { type Ctx, flow, read, write } from '../../action.ts'
import { type Actor, currentOrganization, seesPersonal, userIdOf } from '../../auth/actor.ts'
import { member } from '../../auth/policy.ts'
import { rightsOf } from '../../auth/rights.ts'
import { anyOf, idList } from '../../db/columns.ts'
import { and } from '../../db/conditions.ts'
import { notFound } from '../../errors.ts'
import { keyset } from '../../records/page.ts'
import { taskWriteRule } from '../tasks/refusals.ts'
import { selectItems, toItem, visibleTo } from '../tasks/rows.ts'
import { tasks } from '../tasks/table.ts'
import type { Outcome } from './fields.ts'
import { restoreTask } from './restoring.ts'
import type { Change, ChangePage, ChangeQuery, Undone } from './schema.ts'
import { changeItems, changes } from './table.ts'

const RECENT_MINUTES = 10

/** A credential that is limited to a team or to projects sees only its own changes. */
const ownedBy = (actor: Actor, now: string): SQL =>
  and(
    eq(changes.userId, userIdOf(actor)),
    eq(changes.organizationId, currentOrganization(actor)),
    gt(changes.expiresAt, now),
    seesPersonal(actor) ? undefined : isOfCredential(actor),
  )
const isOfCredential = ({ credentialId }: Actor): SQL => eq(changes.credentialId, credentialId as string)

type Row = Omit<Change, 'tasks'>
const select = ({ db }: Ctx) =>
  db
    .select({
      id: changes.id,
      label: changes.label,
      state: changes.state,
      createdAt: changes.createdAt,
      expiresAt: changes.expiresAt,
      undoneAt: changes.undoneAt,
    })
    .from(changes)
    .$dynamic()

export const list = read('changes.list', member('tasks:read'), async (ctx, query: ChangeQuery): Promise<ChangePage> => {
  const page = keyset({ createdAt: changes.createdAt }, changes.id, query, { sort: 'createdAt' })
  const since = new Date(Date.parse(ctx.now) - RECENT_MINUTES * 60_000).toISOString()
  const recent = and(isOfCredential(ctx.actor), ne(changes.state, 'undone'), gt(changes.createdAt, since))
  const filters = and(ownedBy(ctx.actor, ctx.now), query.recent ? recent : undefined)
  const rows = await select(ctx)
    .where(page.where(filters))
    .orderBy(...page.orderBy)
    .limit(page.limit)
  const found = page.page(rows, query.total ? await ctx.db.$count(changes, filters) : undefined)
  return { ...found, items: await describe(ctx, found.items) }
})

/** Adds what was changed to the label: the key of the task, or how many tasks. */
async function describe(ctx: Ctx, rows: readonly Row[]): Promise<Change[]> {
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
    const { tasks: count, first } = known.get(row.id) ?? { tasks: 0, first: '' }
    const what = count === 1 ? (keys.get(first) ?? '1 task') : `${count} tasks`
    return { ...row, tasks: count, label: `${what}: ${row.label}` }
  })
}

async function findChange(ctx: Ctx, id: string): Promise<Row> {
  const [row] = await select(ctx).where(and(eq(changes.id, id), ownedBy(ctx.actor, ctx.now)))
  if (!row) throw notFound('change', id, 'among your changes of the last hour')
  return row
}

/**
 * Restores the tasks of a change, from the last to the first, each in a transaction of its own. Refused fields are
 * listed with the reason. Undoing it again returns the same and changes nothing.
 */
export const undo = flow(
  'changes.undo',
  taskWriteRule,
  async (ctx, { id }: { id: string }): Promise<Undone> => {
    await findChange(ctx, id)
    const items = await ctx.db
      .select({
        changeId: changeItems.changeId,
        id: changeItems.id,
        taskId: changeItems.taskId,
        after: changeItems.after,
      })
      .from(changeItems)
      .where(eq(changeItems.changeId, id))
      .orderBy(desc(changeItems.id))
    const outcomes: (Outcome & { id: string })[] = []
    // An undo is not a change that can be undone.
    const silent: Ctx = { ...ctx, change: undefined }
    for (const item of items) outcomes.push({ ...(await restoreTask(silent, item)), id: item.taskId })
    await markUndone(ctx, { id })
    const [change] = await describe(ctx, [await findChange(ctx, id)])
    return {
      ...(change as Change),
      restored: outcomes
        .filter(({ restored }) => restored.length > 0)
        .map(({ id, key, restored: fields }) => ({ id, key, fields })),
      kept: outcomes.flatMap(({ id, key, kept }) => kept.map((one) => ({ id, key, ...one }))),
    }
  },
  { idempotent: true },
)

const markUndone = write(
  'changes.markUndone',
  taskWriteRule,
  async (ctx, { id }: { id: string }): Promise<void> => {
    await ctx.db
      .update(changes)
      .set({ state: 'undone', undoneAt: ctx.now })
      .where(and(eq(changes.id, id), ne(changes.state, 'undone')))
  },
  { bookkeeping: true },
)
