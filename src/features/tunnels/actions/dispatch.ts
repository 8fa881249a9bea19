import { asc, eq, inArray } from 'drizzle-orm'
import { type Ctx, contextOf, write } from '../../../action.ts'
import { system } from '../../../auth/actor.ts'
import { machine } from '../../../auth/policy.ts'
import { and } from '../../../db/conditions.ts'
import type { AppEvent } from '../../../events/event.ts'
import type { EphemeralNotice } from '../../../live/messages.ts'
import type { App } from '../../../services.ts'
import { actionLimits } from '../../../tunnel/actions/action.ts'
import { OutputTail } from '../../../tunnel/actions/output.ts'
import type { ConnectedTunnel } from '../../../tunnel/connected-tunnels.ts'
import { ActionReport, decodeJson, type EndState, type MachineOffer } from '../../../tunnel/frames.ts'
import { memberships } from '../../organizations/table.ts'
import { users } from '../../users/table.ts'
import { tunnelActionFinished, tunnelActionRequested } from '../events.ts'
import { retryWork } from '../retrying.ts'
import { tunnelEvent } from '../rows.ts'
import { toStorable, toStorableText } from '../storable.ts'
import { tunnelActions, tunnels } from '../table.ts'
import { endColumns, isActive, isEnded, isOverdue, isWaiting, withCurrentState } from './action-rows.ts'
import type { ActionState, ActionType } from './action-schema.ts'
import { Deadlines } from './deadlines.ts'

interface EndedAction {
  id: string
  state: EndState
  result?: unknown
  error?: string
  output?: string
  outputCut?: boolean
  /** Default: now. */
  finishedAt?: string
}

const unfinishedStates = ['queued', 'running', 'awaiting_confirmation'] as const

/** Stores the end of an action, unless it has ended already. */
export const endAction = write('tunnels.endAction', machine, (ctx, ended: EndedAction) => endRow(ctx, ended))

/** Stores the end of an action that is in one of these states. Returns false if it is in another state. */
export async function endRow(
  ctx: Ctx,
  { id, result, ...rest }: EndedAction,
  from: readonly (typeof unfinishedStates)[number][] = unfinishedStates,
): Promise<boolean> {
  const [row] = await ctx.db
    .update(tunnelActions)
    .set({ finishedAt: ctx.now, ...rest, ...(result !== undefined && { result }), sealed: null })
    .where(and(eq(tunnelActions.id, id), inArray(tunnelActions.state, from)))
    .returning()
  if (!row) return false
  const [tunnel] = await ctx.db.select().from(tunnels).where(eq(tunnels.id, row.tunnelId))
  const data = { actionId: id, action: row.type, what: row.name ?? '', state: rest.state }
  if (tunnel) ctx.emit(tunnelActionFinished, { ...tunnelEvent(tunnel, data), userId: row.callerId })
  return true
}

/** Returns the notices of a state, for people who watch the action or all actions of the tunnel. */
const noticesOf = (tunnelId: string, actionId: string, state: ActionState): EphemeralNotice[] =>
  [`record:${tunnelId}`, `record:${actionId}`].map((topic) => ({ op: 'action', topic, tunnelId, actionId, state }))

/** An unfinished action that was sent to its machine. */
interface SentAction {
  tunnelId: string
  /** Undefined if another process, or this one before a restart, sent it. */
  over: ConnectedTunnel | undefined
  readonly tail: OutputTail
  readonly parts: string[]
  length: number
  result: unknown
}

/** Milliseconds after an action's deadline, because timers may fire a little early. */
const SPARE_MS = 20

const dispatchers = new WeakMap<App, Dispatcher>()

/** Sends the actions of this process's connections to their machines, and stores the results. */
export class Dispatcher {
  readonly #sent = new Map<string, SentAction>()
  /** One chain for each tunnel, so that no more actions run at once than allowed. */
  readonly #last = new Map<string, Promise<void>>()
  /** Actions requested here that may still wait for their machine. */
  readonly #queued = new Deadlines(actionLimits.queueMs + SPARE_MS, () => this.#expire())

  static of(app: App): Dispatcher {
    const known = dispatchers.get(app) ?? new Dispatcher(app)
    dispatchers.set(app, known)
    return known
  }

  private constructor(private readonly app: App) {}

  /** Sends waiting actions, if the machine is connected to this process. */
  wake(tunnelId: string): void {
    if (this.app.tunnels.get(tunnelId)) this.#next(tunnelId, () => this.#sendWaiting(tunnelId))
  }

  /**
   * Handles a machine that has connected and reported its running actions. Actions that it no longer knows will never
   * end, so they are ended here; except those that were sent over this connection after the report.
   */
  onConnected(connection: ConnectedTunnel, { running = [] }: MachineOffer): void {
    const { id } = connection.facts
    this.#next(id, async () => {
      const rows = await this.app.db.select({ id: tunnelActions.id }).from(tunnelActions).where(isActive(id))
      for (const row of rows) {
        if (this.#sent.get(row.id)?.over === connection) continue
        if (running.includes(row.id)) this.#remember(row.id, id)
        else await this.#end(row.id, { state: 'failed', error: 'The machine restarted or lost the action.' })
      }
      await this.#sendWaiting(id)
    })
  }

  /** Returns the output so far of an action that runs on a machine of this process. */
  outputOf(actionId: string): string | undefined {
    return this.#sent.get(actionId)?.tail.text
  }

  /** Handles actions that were requested or ended on any instance. */
  onEvent({ type, subjectId, data, origin }: AppEvent): void {
    const isEnd = type === tunnelActionFinished.name
    if (subjectId === null || (!isEnd && type !== tunnelActionRequested.name)) return
    const actionId = String(data.actionId)
    const state = isEnd ? (data.state as ActionState) : 'queued'
    for (const notice of noticesOf(subjectId, actionId, state)) this.app.live.broadcaster.broadcastLocally(notice)
    if (isEnd) {
      this.#sent.delete(actionId)
      this.#queued.delete(actionId)
    } else if (origin === this.app.instanceId) {
      // Notifies watchers of the timeout in time; otherwise only the next round would notice it.
      this.#queued.add(actionId)
    }
    // A new action may be sent, and the end of another one makes room, whoever ended it.
    this.wake(subjectId)
  }

  /** Handles a report of a machine about one of its own actions; ignores reports about others. */
  report({ facts }: ConnectedTunnel, payload: Uint8Array): void {
    const report = decodeJson(ActionReport, payload)
    const sent = this.#sent.get(report.id)
    if (sent?.tunnelId !== facts.id) return
    for (const [n, text] of report.lines ?? []) {
      const line = toStorableText(text)
      if (sent.tail.add([n, line]))
        this.app.live.broadcaster.broadcast({
          op: 'output',
          topic: `record:${report.id}`,
          actionId: report.id,
          n,
          line,
        })
    }
    sent.length += report.part?.length ?? 0
    if (report.part !== undefined && sent.length <= actionLimits.result) sent.parts.push(report.part)
    if (report.result !== undefined) sent.result = report.result
    if (report.state !== undefined) this.#next(facts.id, () => this.#took(report, sent))
  }

  async #took({ id, state, error }: ActionReport, sent: SentAction): Promise<void> {
    if (state === undefined) return
    if (isEnded(state)) {
      const { tail } = sent
      await this.#end(id, {
        state: state as EndState,
        error: error && toStorableText(error),
        result: toStorable(resultOf(sent)),
        output: tail.text,
        outputCut: tail.isCut,
      })
      return
    }
    await this.app.db
      .update(tunnelActions)
      .set({ state })
      .where(and(eq(tunnelActions.id, id), isActive(sent.tunnelId)))
    for (const notice of noticesOf(sent.tunnelId, id, state)) this.app.live.broadcaster.broadcast(notice)
  }

  async #end(id: string, ended: Omit<EndedAction, 'id'>): Promise<void> {
    await endAction(contextOf(this.app, system), { id, ...ended })
    this.#sent.delete(id)
  }

  async #sendWaiting(tunnelId: string): Promise<void> {
    const { db } = this.app
    const waiting = await db
      .select()
      .from(tunnelActions)
      .where(and(eq(tunnelActions.tunnelId, tunnelId), isWaiting(this.app)))
      .orderBy(asc(tunnelActions.createdAt), asc(tunnelActions.id))
      .limit(20)
    let active = waiting.length > 0 ? await db.$count(tunnelActions, isActive(tunnelId)) : 0
    for (const action of waiting) {
      const connection = this.app.tunnels.get(tunnelId)
      if (!connection || connection.session.isClosed) return
      const isFull = active >= actionLimits.atOnce || connection.facts.paused
      if (isFull && action.type !== 'cancel') continue
      if (await this.#send(connection, action)) active++
    }
  }

  async #send(connection: ConnectedTunnel, action: typeof tunnelActions.$inferSelect): Promise<boolean> {
    const { seal } = this.app
    const { id, type, tunnelId, sealed } = action
    const { organizationId, access, ownerId } = connection.facts
    const user = await callerOf(this.app, action.callerId, organizationId)
    const params = seal.open(sealed ?? '')
    const isOpen = access !== 'private' || user?.id === ownerId || type === 'cancel'
    if (!user || params === undefined || user.role === 'viewer' || !isOpen) {
      await this.#end(id, {
        state: 'refused',
        error: 'The person who requested this action no longer has access to the machine.',
      })
      return false
    }
    if (!(await startAction(this.app, id))) return false
    this.#queued.delete(id)
    this.#remember(id, tunnelId, connection)
    connection.session.action({ id, type: type satisfies ActionType, params: JSON.parse(params), user })
    for (const notice of noticesOf(tunnelId, id, 'running')) this.app.live.broadcaster.broadcast(notice)
    return true
  }

  #expire(): void {
    expireActions(this.app).catch((error: unknown) =>
      this.app.log.debug('expired actions could not be ended', { error }),
    )
  }

  #remember(id: string, tunnelId: string, over?: ConnectedTunnel): void {
    if (this.#sent.has(id)) return
    this.#sent.set(id, { tunnelId, over, tail: new OutputTail(), parts: [], length: 0, result: undefined })
  }

  #next(tunnelId: string, work: () => Promise<void>): void {
    const last = (this.#last.get(tunnelId) ?? Promise.resolve())
      .then(() => retryWork(work))
      .catch((error: unknown) => this.app.log.warn('an action of a tunnel failed', { error }))
    this.#last.set(tunnelId, last)
    void last.then(() => {
      if (this.#last.get(tunnelId) === last) this.#last.delete(tunnelId)
    })
  }
}

/** Marks an action as running. Returns false if it no longer waits. */
export async function startAction(app: App, id: string): Promise<boolean> {
  const [mine] = await app.db
    .update(tunnelActions)
    .set({ state: 'running', startedAt: app.clock().toISOString(), sealed: null })
    .where(and(eq(tunnelActions.id, id), isWaiting(app)))
    .returning({ id: tunnelActions.id })
  return mine !== undefined
}

/** Joins the parts of a result. The machine may have sent invalid JSON. */
function resultOf({ parts, length, result }: SentAction): unknown {
  if (parts.length === 0) return result
  if (length > actionLimits.result) return { tooLarge: true }
  try {
    return JSON.parse(parts.join('')) as unknown
  } catch {
    return undefined
  }
}

/** Reads the caller again: they may have lost access while the action waited. */
async function callerOf({ db }: App, userId: string | null, organizationId: string) {
  if (userId === null) return undefined
  const [found] = await db
    .select({ id: users.id, email: users.email, role: memberships.role })
    .from(users)
    .innerJoin(memberships, and(eq(memberships.userId, users.id), eq(memberships.organizationId, organizationId)))
    .where(and(eq(users.id, userId), eq(users.status, 'active')))
  return found
}

/** Ends actions that have waited too long for their machine, and those whose end the machine never reported. */
export async function expireActions(app: App): Promise<void> {
  const now = app.clock().getTime()
  const { queueMs, ms, confirmMs } = actionLimits
  const ago = (time: number) => new Date(now - time).toISOString()
  const overdue = await app.db
    .select({ ...endColumns, id: tunnelActions.id })
    .from(tunnelActions)
    .where(isOverdue(ago(queueMs), ago(ms + confirmMs + queueMs)))
    .limit(100)
  const ctx = contextOf(app, system)
  for (const row of overdue) {
    const { error, finishedAt } = withCurrentState(row, ctx.now)
    const lost = 'The machine did not report how the action ended.'
    const { id } = row
    await endAction(ctx, { id, state: 'timed_out', error: error ?? lost, finishedAt: finishedAt ?? ctx.now })
  }
}
