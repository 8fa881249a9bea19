import { desc, eq, isNull, ne, sql } from 'drizzle-orm'
import { type Ctx, contextOf, write } from '../../action.ts'
import { type CredentialKind, currentOrganization, system } from '../../auth/actor.ts'
import { machine } from '../../auth/policy.ts'
import { and } from '../../db/conditions.ts'
import type { App } from '../../services.ts'
import { taskWriteRule } from '../tasks/refusals.ts'
import { emitProgress } from './progress.ts'
import { restoreTask } from './restoring.ts'
import { actAs, lostRightsReason } from './running.ts'
import { changeItems, changes } from './table.ts'
import { expiryFrom } from './visible.ts'

/** How many tasks are restored between two looks at the rights of the person. */
const STEP = 25

/** Restores the tasks of a change that are not restored yet, from the last to the first. Returns whether all are. */
export async function restoreItems(ctx: Ctx, id: string, most?: number): Promise<boolean> {
  const query = ctx.db
    .select({
      changeId: changeItems.changeId,
      id: changeItems.id,
      taskId: changeItems.taskId,
      after: changeItems.after,
    })
    .from(changeItems)
    .where(and(eq(changeItems.changeId, id), isNull(changeItems.outcome)))
    .orderBy(desc(changeItems.id))
    .$dynamic()
  const items = await (most === undefined ? query : query.limit(most))
  for (const item of items) await restoreTask(ctx, item)
  return most === undefined || items.length < most
}

/** Who undoes the change: it may be another login session than the one that made it. */
export interface UndoJob {
  id: string
  kind: CredentialKind
  credentialId: string
  organizationId: string
}

/** Lets a job undo the change. An undo whose job was given up begins again. */
export const beginUndo = write(
  'changes.beginUndo',
  taskWriteRule,
  async (ctx, { id }: { id: string }): Promise<void> => {
    const { actor } = ctx
    const begun = await ctx.db
      .update(changes)
      .set({ state: 'undoing', expiresAt: expiryFrom(ctx.now) })
      .where(and(eq(changes.id, id), ne(changes.state, 'undone')))
      .returning({ id: changes.id })
    if (begun.length === 0) return
    const data = {
      id,
      kind: actor.kind,
      credentialId: actor.credentialId as string,
      organizationId: currentOrganization(actor),
    } satisfies UndoJob
    ctx.enqueue({ name: 'changes.undo', key: id, data })
  },
  { bookkeeping: true },
)

/** Undoes a change as the person who asked for it, with the rights that they have at that moment. */
export async function runUndo(app: App, job: UndoJob, signal: AbortSignal): Promise<void> {
  const { id } = job
  while (!signal.aborted) {
    try {
      const ctx: Ctx = { ...contextOf(app, await actAs(app, job)), change: undefined }
      if (await restoreItems(ctx, id, STEP)) return await markUndone(ctx, { id })
      await reportUndo(ctx, { id })
    } catch (error) {
      if (!lostRightsReason(error)) throw error
      return await giveUp(contextOf(app, system), { id })
    }
  }
}

export const markUndone = write(
  'changes.markUndone',
  taskWriteRule,
  async (ctx, { id }: { id: string }): Promise<void> => {
    await ctx.db
      .update(changes)
      .set({ state: 'undone', undoneAt: ctx.now })
      .where(and(eq(changes.id, id), ne(changes.state, 'undone')))
    await emitUndo(ctx, id)
  },
  { bookkeeping: true },
)

const reportUndo = write(
  'changes.reportUndo',
  taskWriteRule,
  (ctx, { id }: { id: string }): Promise<void> => emitUndo(ctx, id),
  { bookkeeping: true },
)

/** The rest can still be undone later, or with another credential. */
const giveUp = write(
  'changes.giveUpUndo',
  machine,
  async (ctx, { id }: { id: string }): Promise<void> => {
    await ctx.db
      .update(changes)
      .set({ state: 'stopped' })
      .where(and(eq(changes.id, id), eq(changes.state, 'undoing')))
    await emitUndo(ctx, id)
  },
  { bookkeeping: true },
)

/** Ends an undo whose job failed too often. */
export const giveUpUndo = (app: App, id: string): Promise<void> => giveUp(contextOf(app, system), { id })

/** Tells the person how far the undo of a change of many tasks is. */
async function emitUndo(ctx: Ctx, id: string): Promise<void> {
  const [row] = await ctx.db
    .select({
      userId: changes.userId,
      state: changes.state,
      done: changes.done,
      refused: changes.refused,
      total: sql<number>`(select count(*)::int from ${changeItems} i where i.change_id = ${changes}.id)`,
      restored: sql<number>`(select count(i.outcome)::int from ${changeItems} i where i.change_id = ${changes}.id)`,
    })
    .from(changes)
    .where(eq(changes.id, id))
  if (row && row.total > STEP) emitProgress(ctx, { id, ...row }, row.restored, row.restored - STEP)
}
