import type { Ctx } from '../../action.ts'
import { isInPerson } from '../../auth/actor.ts'
import {
  atBrowser,
  member,
  type Permission,
  permissionOf,
  type Refusal,
  type Rule,
  ruleRefusal,
  throwIfRefused,
} from '../../auth/policy.ts'
import { waitCommand } from '../../command-line.ts'
import type { WayOut } from '../../errors.ts'
import { gatedStatuses, isClosed, type Status } from '../../records/task-states.ts'
import { fullName } from '../../records/user-or-agent.ts'
import { openProjectRefusal } from '../projects/refusals.ts'
import { acceptanceRefusal } from './acceptance/acceptance.ts'
import type { Blockable, Blocker } from './dependencies/blocker-schema.ts'
import type { TaskCheckpoint } from './leases/checkpoint-schema.ts'
import { callingWorker, holdsLease, isFromThere, isInSession, isLeftBehind, type Worker } from './leases/workers.ts'
import { type FoundTask, findWithProject, HIDDEN, keysInWords } from './rows.ts'
import type { Lease, Task, TaskAction, TaskComplete, TaskDetail, TaskItem } from './schema.ts'

export const taskWriteRule = member('tasks:write')
/** Only a person can confirm that they checked evidence, so it needs a browser, where no agent can sign in. */
export const taskVerifyRule = atBrowser('/tasks/{id}')

/**
 * Each returns why the caller may not perform an action on a task that they can see, or undefined. The actions and
 * the permissions both use them, so they always agree.
 */
export const refusals = {
  update: (ctx: Ctx, found: FoundTask) =>
    openProjectRefusal(ctx, found.project, 'Changing this task') ?? heldRefusal(ctx, found),
  complete: (
    ctx: Ctx,
    found: FoundTask,
    { force, acceptance, by }: Pick<TaskComplete, 'force'> & Partial<Pick<Task, 'acceptance'>> & { by?: Worker } = {},
  ) =>
    openProjectRefusal(ctx, found.project, 'Completing this task') ??
    takeOverRefusal(ctx, found, by) ??
    (force || found.task.status === 'done' ? undefined : blockedRefusal(found.task, 'done')) ??
    (found.task.status === 'done' ? undefined : acceptanceRefusal(ctx, found, acceptance ?? found.task.acceptance)),
  claim: (ctx: Ctx, found: FoundTask, by?: Worker) => workRefusal(ctx, found) ?? takeRefusal(ctx, found, by),
  release: (ctx: Ctx, found: FoundTask, by?: Worker) => workRefusal(ctx, found) ?? takeOverRefusal(ctx, found, by),
  comment: (ctx: Ctx, found: FoundTask) => openProjectRefusal(ctx, found.project, 'Commenting'),
  relate: (ctx: Ctx, found: FoundTask) => openProjectRefusal(ctx, found.project, 'Changing this task'),
  remove: (ctx: Ctx, found: FoundTask) =>
    openProjectRefusal(ctx, found.project, 'Deleting this task') ?? heldRefusal(ctx, found),
  verify: (ctx: Ctx, found: FoundTask) => openProjectRefusal(ctx, found.project, 'Verifying evidence'),
} satisfies Record<TaskAction, (ctx: Ctx, found: FoundTask) => Refusal | undefined>

/** Returns what the caller may do with a task, for surfaces that offer actions. */
export const taskPermissions = (ctx: Ctx, found: FoundTask, blockers: readonly Blocker[] = []): TaskDetail['can'] => {
  const ask = (action: TaskAction, rule: Rule = taskWriteRule): Permission =>
    permissionOf(ruleRefusal(ctx.actor, rule, `tasks.${action}`, ctx.app.clock) ?? refusals[action](ctx, found))
  const update = ask('update')
  const withBlockers = (may: Permission): Blockable =>
    may === true || may.code !== 'conflict.blocked'
      ? may
      : { ...may, by: [...blockers], next: waysToUnblock(found.task, blockers, update === true) }
  return {
    update,
    complete: withBlockers(ask('complete')),
    claim: withBlockers(ask('claim')),
    release: ask('release'),
    comment: ask('comment'),
    relate: ask('relate'),
    remove: ask('remove'),
    verify: ask('verify', taskVerifyRule),
  }
}

/** A blocker is completed, or the task no longer waits for it. */
const waysToUnblock = ({ key }: Task, blockers: readonly Blocker[], mayUpdate: boolean): WayOut[] => [
  ...blockers.map((blocker) => ({
    tool: 'complete_task',
    route: `POST /api/tasks/${blocker.key}/complete`,
    command: `tutti tasks done ${blocker.key}`,
    page: `/tasks/${blocker.key}`,
  })),
  ...(mayUpdate ? blockers : []).map((blocker) => ({
    tool: 'update_task',
    route: `PATCH /api/tasks/${key}`,
    command: `tutti tasks unblock ${key} ${blocker.key}`,
  })),
]

/** Returns where the last session on the task stopped, if the caller may change the task. */
export const checkpointFor = (ctx: Ctx, { project, lastCheckpoint }: FoundTask): TaskCheckpoint | null =>
  ruleRefusal(ctx.actor, taskWriteRule, 'tasks.update', ctx.app.clock) ||
  openProjectRefusal(ctx, project, 'Changing this task')
    ? null
    : lastCheckpoint

/** Finds a task, and throws if the caller may not perform this action on it. */
export async function findPermitted(ctx: Ctx, ref: string, action: TaskAction): Promise<FoundTask> {
  return requirePermitted(ctx, await findWithProject(ctx, ref), action)
}

export function requirePermitted<F extends FoundTask>(ctx: Ctx, found: F, action: TaskAction): F {
  throwIfRefused(refusals[action](ctx, found))
  return found
}

/** The check of `claim` and `release` that does not depend on the holder. */
export const workRefusal = (ctx: Ctx, { project }: FoundTask): Refusal | undefined =>
  openProjectRefusal(ctx, project, 'Working on this task')

const nextTask: WayOut = { tool: 'next_task', route: 'POST /api/tasks/next', command: 'tutti tasks next' }

const claimTask: WayOut = { tool: 'claim_task', route: 'POST /api/tasks/{id}/claim', command: 'tutti tasks claim' }

function takeRefusal(ctx: Ctx, found: FoundTask, by: Worker = callingWorker(ctx)): Refusal | undefined {
  const { task } = found
  const { lease, key, status } = task
  if (isClosed(status))
    return { code: 'conflict', detail: `${key} is ${status}. Take another task.`, details: { next: [nextTask] } }
  if (!lease) return blockedRefusal(task, 'in_progress')
  return holdsLease(found, by) || isLeftBehind(found, by) ? undefined : leaseHeldRefusal(ctx, found, lease, by)
}

/**
 * Agents cannot change a task on which another worker has a live lease. People in the dashboard can, because they see
 * who holds it. A call from the credential and connection of the lease counts as the holder's, even if it does not name
 * the agent, unless it names another session.
 */
export function heldRefusal(ctx: Ctx, found: FoundTask, by: Worker = callingWorker(ctx)): Refusal | undefined {
  const { lease } = found.task
  if (!lease || isInPerson(ctx.actor) || holdsLease(found, by)) return undefined
  return isFromThere(ctx, found) && isInSession(lease, by) ? undefined : leaseHeldRefusal(ctx, found, lease, by)
}

/** Like `heldRefusal`, for actions that take the task over from another connection of the same token. */
const takeOverRefusal = (ctx: Ctx, found: FoundTask, by: Worker = callingWorker(ctx)): Refusal | undefined =>
  isLeftBehind(found, by) ? undefined : heldRefusal(ctx, found, by)

/**
 * The refusal names the holder, their last activity and the end of the claim; for a task that the caller may take over,
 * it explains how.
 */
function leaseHeldRefusal(ctx: Ctx, found: FoundTask, lease: Lease, by: Worker): Refusal {
  const { holder, lastSeenAt, expiresAt } = lease
  const { key } = found.task
  if (isLeftBehind(found, by))
    return {
      code: 'conflict.lease_held',
      detail: `You hold ${key} on another connection of this token. Claim it here first.`,
      details: { next: [claimTask] },
    }
  const retryAfter = Math.max(1, Math.ceil((Date.parse(expiresAt) - Date.parse(ctx.now)) / 1000))
  const shares = found.leaseCredentialId !== null && found.leaseCredentialId === ctx.actor.credentialId
  const where = !isFromThere(ctx, found) ? 'on another connection' : !isInSession(lease, by) && 'in another session'
  const elsewhere = shares && where ? `, ${where} of this token` : ''
  const wait = waitCommand(ctx, key, 'done')
  return {
    code: 'conflict.lease_held',
    detail:
      `${fullName(holder)} works on ${key}${elsewhere}: ` +
      `last seen ${lastSeenAt}, claimed until ${expiresAt} unless they continue. ` +
      `Take another task, or ${wait ? `wait without polling: ${wait}` : `try again in ${retryAfter} seconds.`}`,
    details: { retryAfter, held: { task: key, by: holder.name, lastSeenAt, expiresAt }, next: [nextTask] },
  }
}

/** A task with open blockers cannot enter these states. */
export function blockedRefusal(
  { key, blockedBy }: Pick<TaskItem, 'key' | 'blockedBy'>,
  to: Status,
): Refusal | undefined {
  if (!gatedStatuses.has(to) || blockedBy.length === 0) return undefined
  const [first] = blockedBy
  const [them, all] = blockedBy.length > 1 ? ['them', 'them'] : ['it', first === HIDDEN ? 'it' : first]
  return {
    code: 'conflict.blocked',
    detail:
      `${key} cannot become ${to}: it waits for ${keysInWords(blockedBy)}. ` +
      `Complete ${all} first, or remove ${them} from blockedBy.`,
  }
}
