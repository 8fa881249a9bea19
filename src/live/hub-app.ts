import type { Actor } from '../auth/actor.ts'
import type { Authenticator } from '../auth/authenticate.ts'
import type { Driver } from '../db/driver.ts'
import type { Db } from '../db/session.ts'
import type { BatchFollower, Bus } from '../events/bus.ts'
import type { EventCatalogue } from '../events/catalogue.ts'
import type { Position } from '../events/position.ts'
import type { Log } from '../log.ts'
import type { Records } from '../records/kind.ts'

export const TICK_MS = 1000
/** A quiet client receives a `tick` after this time, so that its cursor stays recent. */
export const QUIET_MS = 25_000
/** A client that reads nothing of its buffered messages for this long is disconnected. */
export const SLOW_MS = 30_000

/** An agent that holds the lease of a task. */
export interface WorkingAgent {
  id: string
  name: string
  since: string
  organizationId: string
  projectId: string
  taskId: string
  /** The task's key: `TUT-42`. */
  key: string
}

export interface HubApp {
  readonly driver: Driver
  readonly db: Db
  readonly bus: Bus
  readonly auth: Authenticator
  readonly events: EventCatalogue
  readonly records: Records
  readonly log: Log
  readonly clock: () => Date
  readonly instanceId: string
  workersOf(organizationIds: readonly string[]): Promise<WorkingAgent[]>
  watchable(actor: Actor, ids: readonly string[]): Promise<string[]>
}

interface Follows {
  start?(position: Position): void
  batch: BatchFollower
  /** Called about every second. */
  tick?(): Promise<void>
}

/** Follows the event bus while a client is connected, for the hub and for MCP streams. */
export class BusSubscription {
  /** The event history that positions belong to. */
  epoch = ''
  #started: Promise<void> | undefined
  #leave: (() => void) | undefined
  #timer: Timer | undefined

  constructor(
    private readonly app: Pick<HubApp, 'bus'>,
    private readonly on: Follows,
  ) {}

  /** Concurrent callers share one start. */
  async start(): Promise<void> {
    this.#started ??= this.#begin().catch((error: unknown) => {
      this.#started = undefined
      throw error
    })
    await this.#started
  }

  stop(): void {
    if (!this.#leave) return
    this.#leave()
    clearInterval(this.#timer)
    this.#leave = undefined
    this.#started = undefined
  }

  async #begin(): Promise<void> {
    const { epoch, position, leave } = await this.app.bus.follow(this.on.batch)
    this.epoch = epoch
    this.on.start?.(position)
    this.#leave = leave
    if (this.on.tick) this.#timer = setInterval(() => void this.on.tick?.(), TICK_MS).unref()
  }
}
