import { desc, eq, gt, ne } from 'drizzle-orm'
import { type Ctx, flow, read } from '../../action.ts'
import { and } from '../../db/conditions.ts'
import { AppError } from '../../errors.ts'
import { keyset } from '../../records/page.ts'
import { taskWriteRule } from '../tasks/refusals.ts'
import { describeChanges, findProgress } from './progress.ts'
import { stopChange } from './running.ts'
import type { Change, ChangePage, ChangeProgress, ChangeQuery, Undone } from './schema.ts'
import { changeItems, changes } from './table.ts'
import { beginUndo, markUndone, restoreItems } from './undoing.ts'
import { changeReadRule, findChange, isOfCredential, ownedBy, selectChanges } from './visible.ts'

const RECENT_MINUTES = 10
/** A change of more tasks is undone by a job. */
const MOST_AT_ONCE = 200

export const list = read('changes.list', changeReadRule, async (ctx, query: ChangeQuery): Promise<ChangePage> => {
  const page = keyset({ createdAt: changes.createdAt }, changes.id, query, { sort: 'createdAt' })
  const since = new Date(Date.parse(ctx.now) - RECENT_MINUTES * 60_000).toISOString()
  const isOpen = and(ne(changes.state, 'undone'), ne(changes.state, 'undoing'))
  const recent = and(isOfCredential(ctx.actor), isOpen, gt(changes.createdAt, since))
  const filters = and(ownedBy(ctx.actor, ctx.now), query.recent ? recent : undefined)
  const rows = await selectChanges(ctx)
    .where(page.where(filters))
    .orderBy(...page.orderBy)
    .limit(page.limit)
  const found = page.page(rows, query.total ? await ctx.db.$count(changes, filters) : undefined)
  return { ...found, items: await describeChanges(ctx, found.items) }
})

export const get = read(
  'changes.get',
  changeReadRule,
  (ctx, { id }: { id: string }): Promise<ChangeProgress> => findProgress(ctx, id),
)

/** Stops a change of many tasks. The tasks that are changed already stay so; an undo restores them. */
export const stop = flow(
  'changes.stop',
  taskWriteRule,
  async (ctx, { id }: { id: string }): Promise<ChangeProgress> => {
    const { state } = await findChange(ctx, id)
    if (state === 'undoing') throw new AppError('conflict', 'This change is being undone. An undo cannot be stopped.')
    if (state === 'running') await stopChange(ctx, { id })
    return findProgress(ctx, id)
  },
  { idempotent: true },
)

/**
 * Restores the tasks of a change, from the last to the first, each in a transaction of its own. Refused fields are
 * listed with the reason. Undoing it again returns the same and changes nothing. A change that still runs is stopped
 * first. A job undoes a change of many tasks; until it has, the lists are empty.
 */
export const undo = flow(
  'changes.undo',
  taskWriteRule,
  async (ctx, { id }: { id: string }): Promise<Undone> => {
    const { state } = await findChange(ctx, id)
    if (state === 'running') await stopChange(ctx, { id })
    const isLong = (await ctx.db.$count(changeItems, eq(changeItems.changeId, id))) > MOST_AT_ONCE
    if (isLong && state !== 'undone') {
      await beginUndo(ctx, { id })
      return { ...(await describeOne(ctx, id)), restored: [], kept: [] }
    }
    // An undo is not a change that can be undone.
    if (state !== 'undone') await restoreItems({ ...ctx, change: undefined }, id)
    await markUndone(ctx, { id })
    return { ...(await describeOne(ctx, id)), ...(await readOutcomes(ctx, id)) }
  },
  { idempotent: true },
)

const describeOne = async (ctx: Ctx, id: string): Promise<Change> =>
  (await describeChanges(ctx, [await findChange(ctx, id)]))[0] as Change

/** Returns what the undo did to each task, from the last to the first. */
async function readOutcomes({ db }: Ctx, id: string): Promise<Pick<Undone, 'restored' | 'kept'>> {
  const rows = await db
    .select({ id: changeItems.taskId, outcome: changeItems.outcome })
    .from(changeItems)
    .where(eq(changeItems.changeId, id))
    .orderBy(desc(changeItems.id))
  const outcomes = rows.flatMap(({ id, outcome }) => (outcome ? [{ id, ...outcome }] : []))
  return {
    restored: outcomes
      .filter(({ restored }) => restored.length > 0)
      .map(({ id, key, restored: fields }) => ({ id, key, fields })),
    kept: outcomes.flatMap(({ id, key, kept }) => kept.map((one) => ({ id, key, ...one }))),
  }
}
