import { check } from '../../check.ts'
import { id as idOf, object } from '../../schema.ts'
import type { ActionReport, ActionRequest, EndState } from '../frames.ts'
import { isAllowed, type MachineConfig } from '../machine-config.ts'
import { ActionFailure, type ActionHandler, type ActionRun, actionLimits, type ConfirmationRequest } from './action.ts'
import { ActionOutput } from './output.ts'

/** Sends reports to the server while the machine is connected. */
export interface ActionReporter {
  /** The connection accepts no data at the moment. */
  readonly isBlocked: boolean
  report(report: ActionReport): void
}

interface ActionRunnerOptions {
  machine: MachineConfig
  handlers: Readonly<Record<string, ActionHandler>>
  /** The environment of programs. The environment of this process is not passed on. */
  env?: Readonly<Record<string, string>>
  /** Asks a person at the machine. Without it, what needs a confirmation is refused. */
  confirm?(question: ConfirmationRequest, signal: AbortSignal): Promise<boolean>
  onEnded?(ended: ActionEnd): void
}

/** A finished action, for the log of the machine. */
export interface ActionEnd {
  id: string
  type: string
  params: Readonly<Record<string, unknown>>
  user: string
  state: EndState
  ms: number
}

interface Running {
  readonly request: ActionRequest
  readonly abort: AbortController
  readonly output: ActionOutput
  /** Unsent reports. They are sent after the output. */
  readonly reports: ActionReport[]
  isDone: boolean
  readonly ended: PromiseWithResolvers<void>
}

const PAUSE_MS = 20
/** Characters of one part of a result. */
const PART = 12_000
/** Actions that do not count towards the limit. */
const light = new Set(['ping', 'cancel'])

const CancelParams = object({ actionId: idOf() })

/**
 * Runs actions on the machine. Actions outlive a connection: their reports wait for the next one.
 */
export class ActionRunner {
  readonly #running = new Map<string, Running>()
  #reporter: ActionReporter | undefined
  #isPumping = false

  constructor(private readonly options: ActionRunnerOptions) {}

  /** The actions whose end was not reported to the server yet. */
  get running(): string[] {
    return [...this.#running.keys()].slice(0, 16)
  }

  connect(reporter: ActionReporter): void {
    this.#reporter = reporter
    void this.#pump()
  }

  disconnect(reporter: ActionReporter): void {
    if (this.#reporter === reporter) this.#reporter = undefined
  }

  /** Cancels all actions. Resolves when all of their programs have ended. */
  async stop(): Promise<void> {
    const running = [...this.#running.values()]
    for (const { abort } of running) abort.abort(new ActionFailure('cancelled', 'The machine was disconnected.'))
    await Promise.all(running.map(({ ended }) => ended.promise))
  }

  /** Starts an action, or refuses it if `tunnel.json` does not allow it. */
  accept(request: ActionRequest): void {
    if (this.#running.has(request.id)) return
    const ended = Promise.withResolvers<void>()
    const abort = new AbortController()
    const running: Running = { request, abort, output: new ActionOutput(), reports: [], isDone: false, ended }
    const busy = [...this.#running.values()].filter((one) => !one.isDone && !light.has(one.request.type)).length
    this.#running.set(request.id, running)
    void this.#run(running, busy >= actionLimits.atOnce && !light.has(request.type))
  }

  async #run(running: Running, isBusy: boolean): Promise<void> {
    const { request, abort, output } = running
    const started = performance.now()
    const timer = setTimeout(
      () => abort.abort(new ActionFailure('timed_out', 'The action took longer than 10 minutes.')),
      actionLimits.ms,
    )
    let state: EndState = 'succeeded'
    try {
      if (isBusy) throw new ActionFailure('failed', 'The machine is busy with other actions.')
      const result = await this.#handle(running)
      output.end()
      running.reports.push(...resultOf(request.id, result), { id: request.id, state })
    } catch (error) {
      const failure = error instanceof ActionFailure ? error : new ActionFailure('failed', messageOf(error))
      state = failure.state
      output.end()
      running.reports.push(...(failure.result === undefined ? [] : resultOf(request.id, failure.result)))
      running.reports.push({ id: request.id, state, error: failure.message.slice(0, 1000) })
    } finally {
      clearTimeout(timer)
      running.isDone = true
      running.ended.resolve()
    }
    const { id, type, params, user } = request
    this.options.onEnded?.({ id, type, params, user: user.email, state, ms: performance.now() - started })
    void this.#pump()
  }

  async #handle(running: Running): Promise<unknown> {
    const { type, params, user } = running.request
    if (user.role === 'viewer') throw new ActionFailure('refused', 'Viewers cannot run actions.')
    if (Buffer.byteLength(JSON.stringify(params)) > actionLimits.params)
      throw new ActionFailure('refused', 'The parameters are too large.')
    if (type === 'cancel') return this.#cancel(running.request)
    const { handlers, machine } = this.options
    const handler = Object.hasOwn(handlers, type) ? handlers[type] : undefined
    if (!handler) throw new ActionFailure('refused', `This machine does not know the action ${type.slice(0, 40)}.`)
    return handler(params, this.#runOf(running, machine))
  }

  #runOf(running: Running, machine: MachineConfig): ActionRun {
    const { request, abort, output } = running
    const { id, user } = request
    return {
      id,
      user,
      machine,
      env: this.options.env ?? {},
      signal: abort.signal,
      print: (text, stream = '') => {
        output.append(stream, text)
        void this.#pump()
      },
      requireConfirmation: async (what) => {
        running.reports.push({ id, state: 'awaiting_confirmation' })
        void this.#pump()
        await this.#ask({ id, user, what }, abort.signal)
        running.reports.push({ id, state: 'running' })
        void this.#pump()
      },
    }
  }

  async #ask(question: ConfirmationRequest, signal: AbortSignal): Promise<void> {
    const { confirm } = this.options
    if (!confirm) throw new ActionFailure('refused', 'No one is at the machine to confirm this action.')
    const late = AbortSignal.timeout(actionLimits.confirmMs)
    const isAgreed = await confirm(question, AbortSignal.any([signal, late]))
    if (signal.aborted) throw signal.reason
    if (late.aborted) throw new ActionFailure('timed_out', 'No one at the machine confirmed this action in time.')
    if (!isAgreed) throw new ActionFailure('refused', 'Someone at the machine declined this action.')
  }

  /** The caller of an action, the owner of the machine, and administrators and owners of the team can cancel it. */
  #cancel({ params, user }: ActionRequest): object {
    const [problem] = check(CancelParams, params)
    if (problem) throw new ActionFailure('refused', problem.message)
    const found = this.#running.get(String(params.actionId))
    if (!found || found.isDone || found.request.type === 'cancel')
      throw new ActionFailure('failed', 'This action is not running on the machine.')
    const isOwn = found.request.user.id === user.id || isAllowed(undefined, user, this.options.machine.ownerId)
    if (!isOwn && user.role !== 'admin' && user.role !== 'owner')
      throw new ActionFailure('refused', 'Only its caller and the owner of the machine can cancel it.')
    found.abort.abort(new ActionFailure('cancelled', `Cancelled by ${user.email}.`))
    return { actionId: params.actionId }
  }

  /** Sends unsent reports, as fast as the connection accepts them. */
  async #pump(): Promise<void> {
    if (this.#isPumping) return
    this.#isPumping = true
    // Combines everything printed in one turn into one report.
    await Bun.sleep(0)
    try {
      for (let reporter = this.#reporter; reporter; reporter = this.#reporter) {
        if (!reporter.isBlocked && !this.#sendNext(reporter)) return
        // Frames are sent in a later task; only then is it known whether the connection is blocked.
        await Bun.sleep(reporter.isBlocked ? PAUSE_MS : 0)
      }
    } finally {
      this.#isPumping = false
    }
  }

  /** Returns false if there is nothing to send. */
  #sendNext(reporter: ActionReporter): boolean {
    for (const [id, running] of this.#running) {
      const { output, reports, isDone } = running
      const lines = output.takeBatch()
      const report = lines.length > 0 ? { id, lines } : reports.shift()
      if (report) {
        // Moves the action to the end, so that actions take turns.
        this.#running.delete(id)
        this.#running.set(id, running)
        reporter.report(report)
        return true
      }
      if (isDone) this.#running.delete(id)
    }
    return false
  }
}

/** A result that is too long for one report is sent in parts. */
function resultOf(id: string, result: unknown): ActionReport[] {
  const json = JSON.stringify(result ?? null)
  if (json.length > actionLimits.result) return [{ id, result: { tooLarge: true } }]
  if (json.length <= PART) return [{ id, result: JSON.parse(json) as unknown }]
  const parts = Math.ceil(json.length / PART)
  return Array.from({ length: parts }, (_, i) => ({ id, part: json.slice(i * PART, (i + 1) * PART) }))
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
