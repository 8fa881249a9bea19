import { eq, gt } from 'drizzle-orm'
import { type Ctx, flow, read, write } from '../../../action.ts'
import { userIdOf } from '../../../auth/actor.ts'
import { throwIfRefused } from '../../../auth/policy.ts'
import { check } from '../../../check.ts'
import { newId } from '../../../db/columns.ts'
import { and } from '../../../db/conditions.ts'
import { AppError, invalid } from '../../../errors.ts'
import { daysAfter } from '../../../records/days.ts'
import { keyset } from '../../../records/page.ts'
import { id as idSchema, object } from '../../../schema.ts'
import { actionLimits } from '../../../tunnel/actions/action.ts'
import { actionsRefusal, actRefusal } from '../access.ts'
import { tunnelActionFinished, tunnelActionRequested } from '../events.ts'
import { findTunnel, type TunnelRow, tunnelEvent, userOf } from '../rows.ts'
import { tunnelActRule, tunnelWatchRule } from '../rules.ts'
import { tunnelActions, tunnelSessions } from '../table.ts'
import { cancelRefusal, findAction, isEnded, isVisibleAction, selectActions, toAction } from './action-rows.ts'
import type {
  ActionInput,
  HistoryQuery,
  OfferedActions,
  StoredOffer,
  TunnelAction,
  TunnelActionPage,
} from './action-schema.ts'
import { Dispatcher, endRow } from './dispatch.ts'
import { actionsFor, nameOf, redactParams } from './offered-actions.ts'

const HISTORY_DAYS = 90

async function offerOf(ctx: Ctx, tunnelId: string): Promise<StoredOffer> {
  const [session] = await ctx.db
    .select({ offer: tunnelSessions.offer })
    .from(tunnelSessions)
    .where(eq(tunnelSessions.tunnelId, tunnelId))
  return session?.offer ?? {}
}

/** Returns the actions that the machine allowed the caller when it last connected. */
export const listAllowedActions = read(
  'tunnels.allowedActions',
  tunnelWatchRule,
  async (ctx, { ref }: { ref: string }): Promise<OfferedActions> => {
    const tunnel = await findTunnel(ctx, ref)
    throwIfRefused(actionsRefusal(ctx, tunnel))
    return { items: await allowedActionsOf(ctx, tunnel, await offerOf(ctx, tunnel.id)) }
  },
)

async function allowedActionsOf(ctx: Ctx, tunnel: TunnelRow, offer: StoredOffer) {
  const user = await userOf(ctx, ctx.actor, tunnel)
  return user ? actionsFor({ ...offer, services: tunnel.services ?? [] }, user, tunnel.ownerId) : []
}

interface ActionRequest extends ActionInput {
  ref: string
  /** Seconds. */
  wait?: number
}

/** Requests an action, and waits for its end as long as the caller wants. */
export const runAction = flow(
  'tunnels.act',
  tunnelActRule,
  async (ctx, { wait = 0, ...input }: ActionRequest, keyed): Promise<TunnelAction> => {
    const ended = new Set<unknown>()
    const { promise, resolve } = Promise.withResolvers<void>()
    let asked: TunnelAction | undefined
    const leave = ctx.app.bus.subscribe(({ type, data }) => {
      if (type !== tunnelActionFinished.name) return
      ended.add(data.actionId)
      if (data.actionId === asked?.id) resolve()
    })
    const timer = setTimeout(resolve, wait * 1000)
    ctx.signal?.addEventListener('abort', () => resolve(), { once: true })
    try {
      asked = await requestAction(keyed, input)
      if (wait > 0 && !isEnded(asked.state) && !ended.has(asked.id)) await promise
      if (wait === 0) return asked
      return await getAction(ctx, { ref: asked.tunnelId, actionId: asked.id })
    } finally {
      clearTimeout(timer)
      leave()
    }
  },
)

const requestAction = write(
  'tunnels.ask',
  tunnelActRule,
  async (ctx, { ref, type, params = {} }: ActionRequest): Promise<TunnelAction> => {
    const tunnel = await findTunnel(ctx, ref)
    if (type !== 'cancel') throwIfRefused(actRefusal(ctx, tunnel))
    if (Buffer.byteLength(JSON.stringify(params)) > actionLimits.params)
      throw invalid('/params', `params exceeds ${actionLimits.params} bytes.`, 'too_long')
    if (type === 'cancel') requireCancelled(params)
    const offer = await offerOf(ctx, tunnel.id)
    if (type !== 'cancel') await requireOffered(ctx, tunnel, offer, { type, params })
    const id = newId()
    const name = nameOf(type, params)
    await ctx.db.insert(tunnelActions).values({
      id,
      tunnelId: tunnel.id,
      callerId: userIdOf(ctx.actor),
      createdAt: ctx.now,
      type,
      name,
      params: redactParams(type, params, offer),
      sealed: ctx.app.seal.close(JSON.stringify(params)),
      state: 'queued',
    })
    const data = { actionId: id, action: type, what: name ?? '' }
    ctx.emit(tunnelActionRequested, { ...tunnelEvent(tunnel, data), userId: userIdOf(ctx.actor) })
    if (type === 'cancel') await cancelQueued(ctx, tunnel, { id, target: params.actionId as string })
    return toAction(ctx, tunnel, await findAction(ctx, tunnel, id))
  },
)

type WantedAction = Required<Pick<ActionInput, 'type' | 'params'>>

/** Refuses actions that the machine would refuse too, so that the caller need not wait. */
async function requireOffered(ctx: Ctx, tunnel: TunnelRow, offer: StoredOffer, { type, params }: WantedAction) {
  const items = (await allowedActionsOf(ctx, tunnel, offer)).filter((item) => item.type === type)
  const isOffered = items.some(({ name }) => name === null || name === params.command)
  if (!isOffered) throw new AppError('forbidden', 'The machine does not allow you this action.')
}

const CancelParams = object({ actionId: idSchema() })

function requireCancelled(params: object): void {
  const [problem] = check(CancelParams, params)
  if (problem) throw invalid(`/params${problem.pointer}`, problem.message, problem.code)
}

/** Cancels an action that has not reached its machine; otherwise the machine is asked to. */
async function cancelQueued(ctx: Ctx, tunnel: TunnelRow, { id, target }: { id: string; target: string }) {
  const action = await findAction(ctx, tunnel, target)
  throwIfRefused(cancelRefusal(ctx, tunnel, action))
  if (action.state !== 'queued') return
  const ended = { id: target, state: 'cancelled' as const, error: `Cancelled by ${ctx.actor.name}.` }
  // If the action was sent meanwhile, the machine is asked.
  if (await endRow(ctx, ended, ['queued'])) await endRow(ctx, { id, state: 'succeeded', result: { actionId: target } })
}

export const getAction = read(
  'tunnels.getAction',
  tunnelWatchRule,
  async (ctx, { ref, actionId }: { ref: string; actionId: string }): Promise<TunnelAction> => {
    const tunnel = await findTunnel(ctx, ref)
    const found = await findAction(ctx, tunnel, actionId)
    const output = isEnded(found.state) ? found.output : (Dispatcher.of(ctx.app).outputOf(actionId) ?? '')
    return toAction(ctx, tunnel, { ...found, output })
  },
)

/** Returns the actions of the last 90 days, without their output. */
export const listActions = read(
  'tunnels.history',
  tunnelWatchRule,
  async (ctx, { ref, ...query }: HistoryQuery & { ref: string }): Promise<TunnelActionPage> => {
    const tunnel = await findTunnel(ctx, ref)
    const page = keyset({ createdAt: tunnelActions.createdAt }, tunnelActions.id, query, { sort: 'createdAt' })
    const since = daysAfter(ctx.now, -HISTORY_DAYS)
    const filters = and(isVisibleAction(ctx, tunnel), gt(tunnelActions.createdAt, since))
    const rows = await selectActions(ctx)
      .where(page.where(filters))
      .orderBy(...page.orderBy)
      .limit(page.limit)
    const total = query.total ? await ctx.db.$count(tunnelActions, filters) : undefined
    return page.page(
      rows.map((row) => toAction(ctx, tunnel, row)),
      total,
    )
  },
)
