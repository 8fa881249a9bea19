import { count, eq, inArray } from 'drizzle-orm'
import { type Ctx, write } from '../../action.ts'
import { currentOrganization, userIdOf } from '../../auth/actor.ts'
import { newId } from '../../db/columns.ts'
import { and } from '../../db/conditions.ts'
import { AppError, invalid } from '../../errors.ts'
import { currentUserOrAgent } from '../agents/users-and-agents.ts'
import { findMatching } from '../tasks/lists/matching.ts'
import { type ChangeMatching, MOST_MATCHING } from '../tasks/many/many-schema.ts'
import { taskWriteRule } from '../tasks/refusals.ts'
import { describeRequest } from './fields.ts'
import { findProgress } from './progress.ts'
import type { ChangeProgress } from './schema.ts'
import { changes } from './table.ts'
import { expiryFrom } from './visible.ts'

/** How many changes of one person run at the same time. */
const MOST_RUNNING = 3

/** Fixes the tasks that match now, and lets a job change them. */
export const changeMatching = write(
  'changes.changeMatching',
  taskWriteRule,
  async (ctx, { where, expect, change }: ChangeMatching): Promise<ChangeProgress> => {
    const { actor, now } = ctx
    if (Object.keys(change).length === 0) throw invalid('/change', 'Give at least one field to change.')
    await requireFreeSlot(ctx)
    const targets = await findMatching(ctx, where, MOST_MATCHING + 1)
    if (targets.length > MOST_MATCHING)
      throw invalid('/where', `More than ${MOST_MATCHING} tasks match, the most for one change. Narrow the filters.`)
    if (targets.length !== expect)
      throw new AppError('conflict', `${tasksMatch(targets.length)} now, not ${expect}. Nothing was changed.`, {
        count: targets.length,
      })
    const id = newId()
    await ctx.db.insert(changes).values({
      id,
      organizationId: currentOrganization(actor),
      userId: userIdOf(actor),
      credentialId: actor.credentialId as string,
      label: describeRequest(change),
      state: 'running',
      createdAt: now,
      expiresAt: expiryFrom(now),
      request: { change, credential: actor.kind, name: currentUserOrAgent(ctx).name },
      targets,
    })
    ctx.enqueue({ name: 'changes.run', data: { id } })
    return findProgress(ctx, id)
  },
)

const tasksMatch = (n: number): string => (n === 1 ? '1 task matches' : `${n} tasks match`)

async function requireFreeSlot(ctx: Ctx): Promise<void> {
  const running = and(eq(changes.userId, userIdOf(ctx.actor)), inArray(changes.state, ['running', 'undoing']))
  const [row] = await ctx.db.select({ n: count() }).from(changes).where(running)
  if (row && row.n >= MOST_RUNNING)
    throw new AppError(
      'conflict.in_progress',
      `${MOST_RUNNING} of your changes are still running. Wait for one of them, or stop it.`,
      { next: [{ route: 'POST /api/changes/{id}/stop' }] },
    )
}
