import { eq, gt, isNull, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { membershipsWith, NO_USER_ID } from '../../auth/actor.ts'
import { anyOf, idList } from '../../db/columns.ts'
import { and, or } from '../../db/conditions.ts'
import { clipToTokens, estimateTokens } from '../../text/token-estimate.ts'
import { currentUserOrAgent } from '../agents/users-and-agents.ts'
import type { TaskCheckpoint } from '../tasks/leases/checkpoint-schema.ts'
import { tasks } from '../tasks/table.ts'
import type { Row } from './rows.ts'
import type { Checkpoint, CheckpointPatch } from './schema.ts'

/** Applies a change to a checkpoint: fields that are not named stay, and null clears one. */
export function mergeCheckpoint(before: Checkpoint | null, patch: CheckpointPatch): Checkpoint {
  const merged = { ...before, ...patch }
  return Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== null && value !== undefined))
}

/** Tokens of a checkpoint that is stored with a task. */
const MOST_TOKENS = 400
/** The most tokens that the next step may take; the lists share the rest. */
const NEXT_STEP_TOKENS = 200

/**
 * SQL condition: the task is the only one of its project that this credential holds without a connection or a session.
 * With several, it would be unclear which window works on which. The inner query's column has another name, because
 * drizzle may leave out the table of the column that is compared with it.
 */
const isOnlyUnnamed = ({ now }: Ctx, credentialId: string | null): SQL =>
  and(
    isNull(tasks.leaseConnection),
    sql`1 = (select count(*) from (select o.project_id as held_project from ${tasks} o
      where o.lease_credential_id = ${credentialId}::uuid and o.lease_expires_at > ${now}::timestamptz
        and o.lease_connection is null and o.lease_session_id is null) held
      where held.held_project = ${tasks.projectId})`,
  )

/**
 * SQL condition: the session holds the task. The task was claimed with the session's id or on its connection, or it is
 * the session's own task. Tasks of other projects do not count: not everyone who sees them may see this session's
 * project.
 */
function isHeldIn(ctx: Ctx, { id, organizationId, projectId, taskId, credentialId, connection }: Row): SQL {
  const isHere = connection === null ? isOnlyUnnamed(ctx, credentialId) : eq(tasks.leaseConnection, connection)
  const isOwn = or(taskId ? eq(tasks.id, taskId) : undefined, isHere)
  const places = idList([...membershipsWith(ctx.actor, 'member'), ...ctx.actor.reach])
  return and(
    eq(tasks.leaseCredentialId, credentialId ?? NO_USER_ID),
    gt(tasks.leaseExpiresAt, ctx.now),
    projectId ? eq(tasks.projectId, projectId) : eq(tasks.organizationId, organizationId),
    anyOf(tasks.organizationId, places),
    or(eq(tasks.leaseSessionId, id), and(isNull(tasks.leaseSessionId), isOwn)),
  )
}

export const holdsTasks = async (ctx: Ctx, session: Row): Promise<boolean> =>
  (await ctx.db.$count(tasks, isHeldIn(ctx, session))) > 0

/** Stores the checkpoint with the tasks that the session holds, for the worker who continues them. */
export async function storeWithTasks(ctx: Ctx, session: Row, checkpoint: Checkpoint): Promise<void> {
  await ctx.db
    .update(tasks)
    .set({ lastCheckpoint: shorten({ author: currentUserOrAgent(ctx), at: ctx.now, ...checkpoint }) })
    .where(isHeldIn(ctx, session))
}

/** Fits a checkpoint into 400 tokens: texts are cut, and the last entries of the lists are left out. */
function shorten({ author, at, nextStep, branch, files, commands, openQuestions }: TaskCheckpoint): TaskCheckpoint {
  const short: TaskCheckpoint = { author, at }
  if (nextStep) short.nextStep = clipToTokens(nextStep, NEXT_STEP_TOKENS)
  if (branch) short.branch = branch
  let left = MOST_TOKENS - estimateTokens(JSON.stringify(short))
  for (const [name, list] of Object.entries({ openQuestions, files, commands })) {
    const kept: string[] = []
    for (const entry of list ?? []) {
      const cost = estimateTokens(entry) + 2
      if (cost > left) break
      left -= cost
      kept.push(entry)
    }
    if (kept.length > 0) short[name as 'files'] = kept
  }
  return short
}
