import { eq, sql } from 'drizzle-orm'
import { type Ctx, contextOf, write } from '../../action.ts'
import { type Actor, type CredentialKind, switchOrganization, system } from '../../auth/actor.ts'
import { machine } from '../../auth/policy.ts'
import { and } from '../../db/conditions.ts'
import { AppError, familyOf } from '../../errors.ts'
import type { App } from '../../services.ts'
import { type BatchResult, changeEach, STEP } from '../tasks/many/batch.ts'
import { mergeNotices, sendNotices } from '../tasks/many/notices.ts'
import { taskWriteRule } from '../tasks/refusals.ts'
import { describeChange, requestedFields } from './fields.ts'
import { emitProgress } from './progress.ts'
import { type BatchProblem, type ChangeState, changes } from './table.ts'
import { expiryFrom } from './visible.ts'

const MOST_PROBLEMS = 20

/** Changes the tasks of a change, some in each transaction, with the rights that the person has at that moment. */
export async function runChange(app: App, id: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const caller = await findCaller(app, id)
    if (!caller) return
    try {
      const { credential, ...whose } = caller
      const actor = await actAs(app, { ...whose, kind: credential })
      if (!(await runStep(contextOf(app, actor, { changeId: id }), { id }))) return
    } catch (error) {
      const reason = lostRightsReason(error)
      if (!reason) throw error
      await endChange(contextOf(app, system), { id, reason })
      return
    }
  }
}

interface Caller {
  kind: CredentialKind
  credentialId: string
  organizationId: string
}

/** Returns the person with their current rights in the team. Throws if the credential or the membership has ended. */
export async function actAs(app: App, { kind, credentialId, organizationId }: Caller): Promise<Actor> {
  const renewed = await app.auth.renew({ kind, credentialId })
  if ('ended' in renewed)
    throw new AppError(
      'unauthenticated',
      renewed.ended === 'suspended' ? 'The account is suspended.' : 'The login session or API key has ended.',
    )
  return switchOrganization(renewed.actor, organizationId)
}

/** Returns why the job cannot go on for the person; undefined if the server itself failed. */
export function lostRightsReason(error: unknown): string | undefined {
  if (!(error instanceof AppError)) return undefined
  if (error.code === 'unauthenticated') return error.message
  if (error.code === 'not_found') return 'You are no longer a member of the team.'
  return familyOf(error.code) === 'forbidden' ? 'You may no longer change tasks of this team.' : undefined
}

async function findCaller(
  app: App,
  id: string,
): Promise<(Omit<Caller, 'kind'> & { credential: CredentialKind }) | undefined> {
  const [row] = await app.db
    .select({ request: changes.request, credentialId: changes.credentialId, organizationId: changes.organizationId })
    .from(changes)
    .where(and(eq(changes.id, id), eq(changes.state, 'running')))
  return row?.request ? { ...row, credential: row.request.credential } : undefined
}

/** The columns that a step needs; `slice`: the ids of the next tasks. Locks the change, so that steps never overlap. */
const lockChange = async ({ db }: Ctx, id: string) =>
  (
    await db
      .select({
        userId: changes.userId,
        state: changes.state,
        label: changes.label,
        request: changes.request,
        done: changes.done,
        refused: changes.refused,
        problems: changes.problems,
        notices: changes.notices,
        total: sql<number>`cardinality(${changes.targets})`,
        slice: sql<string>`array_to_string(${changes.targets}[${changes.done} + ${changes.refused} + 1:
          ${changes.done} + ${changes.refused} + ${STEP}], ',')`,
      })
      .from(changes)
      .where(eq(changes.id, id))
      .for('update')
  )[0]
type LockedChange = NonNullable<Awaited<ReturnType<typeof lockChange>>>

/** Changes the next tasks and counts them in the same transaction: a task is never changed twice. */
const runStep = write(
  'changes.runStep',
  taskWriteRule,
  async (ctx, { id }: { id: string }): Promise<boolean> => {
    const row = await lockChange(ctx, id)
    if (row?.state !== 'running' || !row.request) return false
    const { change } = row.request
    const ids = row.slice.split(',').filter(Boolean)
    const { items, notices } = await changeEach(ctx, { tasks: ids.map((task) => ({ id: task })), change })
    const all = row.notices ?? {}
    mergeNotices(all, notices)
    const first = items.find(({ task }) => task)?.task
    const next = {
      ...row,
      notices: all,
      done: row.done + items.filter(({ task }) => task).length,
      refused: row.refused + items.filter(({ problem }) => problem).length,
      problems: [...(row.problems ?? []), ...problemsOf(items)].slice(0, MOST_PROBLEMS),
      ...(row.done === 0 && first && { label: describeChange(requestedFields(change), first) }),
    }
    const isEnd = next.done + next.refused >= row.total
    await storeStep(ctx, id, row.done + row.refused, { ...next, state: isEnd ? 'done' : 'running' })
    return !isEnd
  },
  { bookkeeping: true },
)

const problemsOf = (items: readonly BatchResult[]): BatchProblem[] =>
  items.flatMap(({ id, problem }) => (problem ? [{ id, detail: problem.detail }] : []))

/** Stores how far the change is. The hour for an undo begins with the last step; then the notifications are sent. */
async function storeStep(
  ctx: Ctx,
  id: string,
  before: number,
  row: LockedChange & { stoppedBecause?: string; isSilent?: boolean },
): Promise<void> {
  const { userId, state, label, request, done, refused, problems, notices, total, stoppedBecause, isSilent } = row
  const hasEnded = state !== 'running'
  await ctx.db
    .update(changes)
    .set({
      state,
      label,
      done,
      refused,
      problems,
      notices,
      stoppedBecause,
      expiresAt: expiryFrom(ctx.now),
    })
    .where(eq(changes.id, id))
  emitProgress(ctx, { id, userId, state, total, done, refused }, done + refused, before)
  if (hasEnded && !isSilent && notices && request) await sendNotices(ctx, notices, { name: request.name, id: userId })
}

interface Stop {
  id: string
  reason: string
  /** Sends no notifications: they may be what failed. */
  isSilent?: boolean
}

/** Ends a running change before its end. A step that has begun is completed first. */
async function stopAt(ctx: Ctx, { id, reason, isSilent = false }: Stop): Promise<void> {
  const row = await lockChange(ctx, id)
  if (row?.state !== 'running') return
  await storeStep(ctx, id, -1, { ...row, state: 'stopped' as ChangeState, stoppedBecause: reason, isSilent })
}

const endChange = write('changes.end', machine, (ctx, stop: Stop): Promise<void> => stopAt(ctx, stop), {
  bookkeeping: true,
})

/** Ends a change whose job failed too often, so that the person can start others. */
export const endFailedChange = (app: App, id: string): Promise<void> =>
  endChange(contextOf(app, system), {
    id,
    reason: 'The server failed several times. The other tasks did not change.',
    isSilent: true,
  })

export const stopChange = write(
  'changes.stopRunning',
  taskWriteRule,
  (ctx, { id }: { id: string }): Promise<void> => stopAt(ctx, { id, reason: 'You stopped it.' }),
  { bookkeeping: true },
)
