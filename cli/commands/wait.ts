import { AppError } from '../../src/errors.ts'
import type { LiveEvent } from '../../src/features/hub/schema.ts'
import type { Task } from '../../src/features/tasks/schema.ts'
import type { FeatureDetail } from '../../src/features/workflow/schema.ts'
import { statuses } from '../../src/records/task-states.ts'
import type { Client } from '../api/client.ts'
import { followEvents } from '../api/events.ts'
import { withHints } from '../api/hints.ts'
import { type ServerChoice, signedInClient } from '../api/profiles.ts'
import { pathTo } from '../api/reference.ts'
import { printResult, safeLine } from '../terminal/output.ts'
import { Refusal } from '../terminal/refusal.ts'
import { parseDuration } from '../terminal/times.ts'

interface Options extends ServerChoice {
  json?: boolean
  until: string
  timeout?: string
  all?: boolean
}

/** A task or feature as it is now. */
interface AwaitedRecord {
  kind: 'task' | 'feature'
  id: string
  /** The key of a task, the title of a feature. */
  name: string
  status: string
  /** Passed gates, and the verdict of the last review. */
  reached: string[]
  /** Everything that can be waited for. */
  known: readonly string[]
}

const verdicts = ['approved', 'changes_requested'] as const

/** Waits until one of the records, or all of them, have reached a state: reads them, then follows their events. */
export async function waitForState(refs: string[], { json, until, timeout, all, ...where }: Options): Promise<void> {
  const limit = timeout === undefined ? undefined : parseDuration(timeout)
  if (timeout !== undefined && limit === undefined)
    throw new Refusal(`${JSON.stringify(timeout)} is not a duration, such as 30s, 10m or 2h.`)
  const { client } = signedInClient(where)
  const stop = new AbortController()
  const timer = limit === undefined ? undefined : setTimeout(() => stop.abort(), limit)
  try {
    const wanted = until.split(',').filter((word) => word !== '')
    const found = await Promise.all(refs.map((ref) => withHints(client, () => findRecord(client, ref))))
    const waiting = new StateWait(client, found, wanted, all === true)
    await waiting.done(stop.signal)
    if (!waiting.isDone) throw new Refusal(`${waiting.open} after ${timeout}.`, 6)
    printResult(
      json,
      { items: waiting.finished.map(({ known: _, ...shown }) => shown) },
      ...waiting.finished.map((one) => reachedLine(one, wanted)),
    )
  } finally {
    clearTimeout(timer)
    stop.abort()
  }
}

const reachedLine = ({ name, status, reached }: AwaitedRecord, wanted: readonly string[]): string => {
  const verdict = verdicts.find((one) => reached.includes(one))
  const isVerdict = verdict && wanted.some((word) => word === 'reviewed' || word === verdict)
  return `${safeLine(name)} is ${safeLine(status)}${isVerdict ? `: ${verdict.replace('_', ' ')}` : ''}.`
}

class StateWait {
  readonly #records: Map<string, AwaitedRecord>
  readonly #finished = new Set<string>()

  constructor(
    private readonly client: Client,
    found: readonly AwaitedRecord[],
    private readonly wanted: readonly string[],
    private readonly all: boolean,
  ) {
    this.#records = new Map(found.map((one) => [one.id, one]))
    for (const { kind, known } of found) {
      const unknown = wanted.find((word) => !known.includes(word))
      if (unknown !== undefined || wanted.length === 0)
        throw new Refusal(
          `${unknown ? `A ${kind} has no state ${unknown}` : '--until is empty'}. Valid states: ${known.join(', ')}`,
        )
    }
    for (const one of found) this.#note(one)
  }

  get finished(): AwaitedRecord[] {
    return [...this.#records.values()].filter(({ id }) => this.#finished.has(id))
  }

  get isDone(): boolean {
    return this.all ? this.#finished.size === this.#records.size : this.#finished.size > 0
  }

  /** Describes the records that have not reached the state. */
  get open(): string {
    return [...this.#records.values()]
      .filter(({ id }) => !this.#finished.has(id))
      .map(({ name, status }) => `${safeLine(name)} is still ${safeLine(status)}`)
      .join(', ')
  }

  /**
   * Subscribes, then reads the records, then waits for events: what happens after the subscription comes as an event,
   * so nothing is missed between. Returns at once if it was reached before.
   */
  async done(signal: AbortSignal): Promise<void> {
    if (this.isDone) return this.#readStates()
    const topics = [...this.#records.keys()].map((id) => `record:${id}`)
    for await (const message of followEvents(this.client, topics, signal)) {
      if (message.op === undefined) await this.#hear(message)
      else if (message.op === 'subscribed') {
        this.#requireSeen(message.refused.map(({ topic }) => topic))
        await this.#readAll()
      } else if (message.op === 'reset') await this.#readAll()
      else if (message.op === 'revoked') this.#requireSeen(message.topics)
      if (this.isDone) return this.#readStates()
    }
  }

  /** The server reads gates after the state, which may be a moment older: it is read again where a gate was awaited. */
  async #readStates(): Promise<void> {
    for (const one of this.finished)
      if (one.kind === 'feature' && !this.wanted.includes(one.status))
        this.#records.set(one.id, { ...one, status: (await readRecord.feature(this.client, one.id)).status })
  }

  #requireSeen(lost: readonly string[]): void {
    const gone = [...this.#records.values()].find(({ id }) => lost.includes(`record:${id}`))
    if (gone)
      throw new AppError('not_found', `${safeLine(gone.name)} no longer exists, or you no longer have access to it.`)
  }

  async #readAll(): Promise<void> {
    for (const { kind, id } of this.#records.values()) this.#note(await readRecord[kind](this.client, id))
  }

  /** An event names the state that it led to, also if the record has moved on since. */
  async #hear({ type, subjectId, data }: LiveEvent): Promise<void> {
    const before = this.#records.get(subjectId ?? '')
    if (!before) return
    if (type === `${before.kind}.deleted`) throw new AppError('not_found', `${safeLine(before.name)} was deleted.`)
    const { status, verdict } = data as { status?: unknown; verdict?: unknown }
    const reached = typeof verdict === 'string' ? [...before.reached, 'reviewed', verdict] : before.reached
    this.#note({ ...before, reached, ...(typeof status === 'string' && { status }) })
    // Events do not tell all gates that were passed.
    if (before.kind === 'feature' && !this.isDone) this.#note(await readRecord.feature(this.client, before.id))
  }

  #note(now: AwaitedRecord): void {
    if (this.#finished.has(now.id)) return
    this.#records.set(now.id, now)
    if (this.wanted.some((word) => word === now.status || now.reached.includes(word))) this.#finished.add(now.id)
  }
}

const readRecord = {
  async task(client: Client, ref: string): Promise<AwaitedRecord> {
    const { id, key, status } = await client.get<Task>(pathTo('/api/tasks/:id', ref))
    return { kind: 'task', id, name: key, status, reached: [], known: statuses }
  },
  async feature(client: Client, ref: string): Promise<AwaitedRecord> {
    const feature = await client.get<FeatureDetail>(pathTo('/api/features/:id', ref))
    const { id, title, status, states, gates, reviews, next } = feature
    const isInReview = next?.missing.some(({ next }) => next.tool === 'submit_review') ?? false
    const last = isInReview ? undefined : reviews.toSorted((a, b) => a.createdAt.localeCompare(b.createdAt)).at(-1)
    return {
      kind: 'feature',
      id,
      name: title,
      status,
      reached: [
        ...gates.filter(({ state }) => state !== 'open').map(({ gate }) => gate),
        ...(last ? ['reviewed', last.verdict] : []),
      ],
      known: [...new Set([...states, ...gates.map(({ gate }) => gate), 'reviewed', ...verdicts])],
    }
  },
}

/** Finds a task by key or id, or a feature by id. */
async function findRecord(client: Client, ref: string): Promise<AwaitedRecord> {
  try {
    return await readRecord.task(client, ref)
  } catch (error) {
    const isOther = error instanceof AppError && error.code === 'not_found' && /^[\da-f]{8}[\da-f-]*$/i.test(ref)
    if (!isOther) throw error
    return await readRecord.feature(client, ref)
  }
}
