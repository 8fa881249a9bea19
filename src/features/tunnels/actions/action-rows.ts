import { eq, gt, inArray, isNull, lt, lte } from 'drizzle-orm'
import type { Ctx } from '../../../action.ts'
import { userIdOf } from '../../../auth/actor.ts'
import { permissionOf, type Refusal, roleRefusal, ruleRefusal } from '../../../auth/policy.ts'
import { and, or } from '../../../db/conditions.ts'
import { notFound } from '../../../errors.ts'
import type { App } from '../../../services.ts'
import { actionLimits } from '../../../tunnel/actions/action.ts'
import { endStates } from '../../../tunnel/frames.ts'
import { users } from '../../users/table.ts'
import { governsTunnel } from '../access.ts'
import type { TunnelRow } from '../rows.ts'
import { tunnelActRule } from '../rules.ts'
import { tunnelActions } from '../table.ts'
import type { ActionState, TunnelAction } from './action-schema.ts'

const actionColumns = {
  id: tunnelActions.id,
  tunnelId: tunnelActions.tunnelId,
  type: tunnelActions.type,
  name: tunnelActions.name,
  params: tunnelActions.params,
  state: tunnelActions.state,
  callerId: tunnelActions.callerId,
  callerName: users.name,
  createdAt: tunnelActions.createdAt,
  startedAt: tunnelActions.startedAt,
  finishedAt: tunnelActions.finishedAt,
  result: tunnelActions.result,
  error: tunnelActions.error,
  outputCut: tunnelActions.outputCut,
}

interface ActionRow extends Omit<TunnelAction, 'caller' | 'durationMs' | 'can'> {
  callerId: string | null
  callerName: string | null
}

export const isEnded = (state: ActionState): boolean => (endStates as readonly ActionState[]).includes(state)

export const selectActions = ({ db }: Pick<Ctx, 'db'>) =>
  db.select(actionColumns).from(tunnelActions).leftJoin(users, eq(users.id, tunnelActions.callerId)).$dynamic()

/** SQL condition: the actions of a tunnel that the caller may see. People who do not govern it see only their own. */
export const isVisibleAction = (ctx: Ctx, tunnel: TunnelRow) =>
  and(
    eq(tunnelActions.tunnelId, tunnel.id),
    governsTunnel(ctx, tunnel) ? undefined : eq(tunnelActions.callerId, userIdOf(ctx.actor)),
  )

/**
 * Returns the current state of an action: one that waited too long for its machine has timed out, even before that is
 * stored.
 */
export function withCurrentState<R extends Pick<ActionRow, 'state' | 'createdAt' | 'finishedAt' | 'error'>>(
  row: R,
  now: string,
): R {
  const finishedAt = new Date(Date.parse(row.createdAt) + actionLimits.queueMs).toISOString()
  if (row.state !== 'queued' || finishedAt > now) return row
  return { ...row, state: 'timed_out', finishedAt, error: NOT_TAKEN }
}
const NOT_TAKEN = 'The machine did not start the action within a minute.'

export async function findAction(ctx: Ctx, tunnel: TunnelRow, id: string): Promise<ActionRow & { output: string }> {
  const [found] = await ctx.db
    .select({ ...actionColumns, output: tunnelActions.output })
    .from(tunnelActions)
    .leftJoin(users, eq(users.id, tunnelActions.callerId))
    .where(and(isVisibleAction(ctx, tunnel), eq(tunnelActions.id, id)))
  if (!found) throw notFound('action', id)
  return { ...withCurrentState(found, ctx.now), output: found.output ?? '' }
}

/** Returns why the caller may not cancel an action that they see. It is allowed while the tunnel is paused. */
export function cancelRefusal(ctx: Ctx, tunnel: TunnelRow, action: Pick<ActionRow, 'state'>): Refusal | undefined {
  if (isEnded(action.state)) return { code: 'conflict', detail: 'This action has already ended.' }
  return (
    ruleRefusal(ctx.actor, tunnelActRule, 'Cancelling an action', ctx.app.clock) ??
    roleRefusal(ctx.actor, tunnel.organizationId, 'member', 'Cancelling an action')
  )
}

export function toAction(ctx: Ctx, tunnel: TunnelRow, action: ActionRow): TunnelAction {
  const { callerId, callerName, ...rest } = withCurrentState(action, ctx.now)
  const { startedAt, finishedAt } = rest
  return {
    ...rest,
    result: withSource(tunnel, rest),
    caller: { id: callerId, name: callerName ?? 'a former user' },
    durationMs: startedAt && finishedAt ? Math.max(0, Date.parse(finishedAt) - Date.parse(startedAt)) : null,
    can: { cancel: permissionOf(cancelRefusal(ctx, tunnel, rest)) },
  }
}

/** Names the source of a result: tools of a machine are untrusted, whatever they claim. */
function withSource({ slug }: TunnelRow, { type, name, result }: Pick<ActionRow, 'type' | 'name' | 'result'>): unknown {
  const isOfServer = type === 'list_tools' || type === 'call_tool'
  if (!isOfServer || typeof result !== 'object' || result === null || Array.isArray(result)) return result
  const server = name?.split('/')[0] ?? ''
  return { ...result, _source: { kind: 'mcp_server', author: `${server} on ${slug}`, trust: 'other' } }
}

// ---- for the machine's side, without a caller

/** The columns that decide whether an action has ended. */
export const endColumns = {
  state: tunnelActions.state,
  createdAt: tunnelActions.createdAt,
  finishedAt: tunnelActions.finishedAt,
  error: tunnelActions.error,
}

/** SQL condition: actions that wait for their machine and have not timed out. */
export const isWaiting = ({ clock }: Pick<App, 'clock'>) =>
  and(
    eq(tunnelActions.state, 'queued'),
    gt(tunnelActions.createdAt, new Date(clock().getTime() - actionLimits.queueMs).toISOString()),
  )

/** SQL condition: actions that waited too long for their machine, or whose end it never reported. */
export const isOverdue = (queuedBefore: string, startedBefore: string) =>
  and(
    isNull(tunnelActions.finishedAt),
    or(
      and(eq(tunnelActions.state, 'queued'), lte(tunnelActions.createdAt, queuedBefore)),
      lt(tunnelActions.startedAt, startedBefore),
    ),
  )

export const isActive = (tunnelId: string) =>
  and(eq(tunnelActions.tunnelId, tunnelId), inArray(tunnelActions.state, ['running', 'awaiting_confirmation']))
