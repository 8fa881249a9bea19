import { eq, gt, isNull } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { nobody } from '../../auth/actor.ts'
import { and, or } from '../../db/conditions.ts'
import { clipped, tokensOf } from '../../text/token-estimate.ts'
import { speaker } from '../agents/parties.ts'
import type { TaskCheckpoint } from '../tasks/checkpoint-schema.ts'
import { tasks } from '../tasks/table.ts'
import type { Row } from './rows.ts'
import type { Checkpoint, CheckpointPatch } from './schema.ts'

/** Returns the checkpoint after a change: fields that are not named stay, and null clears one. */
export function mergeCheckpoint(before: Checkpoint | null, patch: CheckpointPatch): Checkpoint {
  const merged = { ...before, ...patch }
  return Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== null && value !== undefined))
}

/** Tokens of a checkpoint that is stored with a task. */
const MOST_TOKENS = 400
/** Of these the next step may take so many; the rest is for the lists. */
const NEXT_STEP_TOKENS = 200

/**
 * Stores the checkpoint with the tasks that the session holds, so that whoever continues one of them knows what was
 * done. A session holds the tasks that were claimed with its name or on its connection, and its own task.
 */
export async function leaveWithTasks(ctx: Ctx, session: Row, checkpoint: Checkpoint): Promise<void> {
  const { id, taskId, credentialId, connection } = session
  const onConnection = connection === null ? undefined : eq(tasks.leaseConnection, connection)
  const unnamed = and(isNull(tasks.leaseSessionId), or(taskId ? eq(tasks.id, taskId) : undefined, onConnection))
  await ctx.db
    .update(tasks)
    .set({ lastCheckpoint: shorten({ author: speaker(ctx), at: ctx.now, ...checkpoint }) })
    .where(
      and(
        eq(tasks.leaseCredentialId, credentialId ?? nobody),
        gt(tasks.leaseExpiresAt, ctx.now),
        or(eq(tasks.leaseSessionId, id), taskId || onConnection ? unnamed : undefined),
      ),
    )
}

/** Fits a checkpoint into 400 tokens: texts are cut, and the last entries of the lists are left out. */
function shorten({ author, at, nextStep, branch, files, commands, openQuestions }: TaskCheckpoint): TaskCheckpoint {
  const short: TaskCheckpoint = { author, at }
  if (nextStep) short.nextStep = clipped(nextStep, NEXT_STEP_TOKENS)
  if (branch) short.branch = branch
  let left = MOST_TOKENS - tokensOf(JSON.stringify(short))
  for (const [name, list] of Object.entries({ openQuestions, files, commands })) {
    const kept: string[] = []
    for (const entry of list ?? []) {
      const cost = tokensOf(entry) + 2
      if (cost > left) break
      left -= cost
      kept.push(entry)
    }
    if (kept.length > 0) short[name as 'files'] = kept
  }
  return short
}
