import type { Actor } from './auth/actor.ts'
import type { Authenticator } from './auth/authenticate.ts'
import type { Jwt } from './auth/jwt.ts'
import type { Seal } from './auth/seal.ts'
import type { Config } from './config.ts'
import type { ClockWatch } from './db/clock.ts'
import type { Driver } from './db/driver.ts'
import type { ReadRouter } from './db/reads.ts'
import type { Db } from './db/session.ts'
import type { Embedder } from './embeddings/embedder.ts'
import type { Bus } from './events/bus.ts'
import type { EventCatalogue } from './events/catalogue.ts'
import type { Emitter } from './events/emit.ts'
import type { AppEvent } from './events/event.ts'
import type { Job } from './jobs/definition.ts'
import type { Jobs } from './jobs/queue.ts'
import type { Hub } from './live/hub.ts'
import type { Log } from './log.ts'
import type { Mailer } from './outside/mailer.ts'
import type { Outbound } from './outside/outbound.ts'
import type { Records } from './records/kind.ts'
import type { ConnectedTunnels } from './tunnel/connected-tunnels.ts'

/** How many tools a list has, and how many tokens (o200k) a model reads for them. */
export interface ToolCost {
  count: number
  tokens: number
}

/** What lists of tools cost a model. */
export interface ToolCosts {
  /** Returns the cost of the list that this actor gets. */
  forActor(actor: Actor): ToolCost
  /** Returns the cost of all tools that toolsets select, for a token that may do everything. None selects all. */
  selected(toolsets: readonly string[]): ToolCost
  /** Returns the cost of each toolset. */
  toolsets(): (ToolCost & { name: string })[]
}

/** What a credential can be limited to, taken from what the features offer. */
export interface Grantable {
  /** The resources of scopes: `notes` of `notes:read`. */
  readonly resources: ReadonlySet<string>
  readonly toolsets: ReadonlySet<string>
}

/** Everything an action may need, created once and passed explicitly. */
export interface App {
  readonly config: Config
  readonly log: Log
  readonly clock: () => Date
  /** Identifies this process among the instances on one database. */
  readonly instanceId: string
  readonly driver: Driver
  /** Whether the clock of this machine can be trusted. */
  readonly clockWatch: ClockWatch
  readonly db: Db
  /** Chooses between the database and a standby, for what may be read from one. */
  readonly reads: ReadRouter
  readonly bus: Bus
  readonly jobs: Jobs<App>
  readonly jwt: Jwt
  readonly auth: Authenticator
  readonly secret: string
  readonly seal: Seal
  readonly mailer: Mailer
  readonly embedder: Embedder
  /** All kinds of records. */
  readonly records: Records<Ctx>
  /** The definitions of all events. */
  readonly events: EventCatalogue
  /** Handlers of the features' hooks, by the hook's name. */
  readonly hooks: ReadonlyMap<string, readonly ((ctx: Ctx, input: never) => unknown)[]>
  readonly outbound: Outbound
  /** What lists of tools cost a model. */
  readonly toolCosts: ToolCosts
  /** Sends events to open connections. */
  readonly live: Hub
  readonly grantable: Grantable
  /** The machines that are connected to this process. */
  readonly tunnels: ConnectedTunnels
  /** Current counts of the surfaces, for the admin area: `mcpStreams`, `http`. */
  readonly gauges: Record<string, () => number>
  /** The public address, for links in mails and pages; never taken from a request. */
  url: string
  /** The address that the server listens on, once it does. */
  listening?: { host: string; port: number }
  close(): Promise<void>
}

/** The context of one call. Inside a write, `db` is its transaction. */
export interface Ctx extends Emitter {
  readonly app: App
  readonly actor: Actor
  readonly db: Db
  /** The time of the call; it does not advance during the call. */
  readonly now: string
  readonly requestId: string
  readonly ip: string | null
  readonly userAgent: string | null
  /** The connection of the call, where the protocol has one. It distinguishes the windows of one token. */
  readonly connection?: string
  readonly idempotencyKey?: string
  /** `If-Match` or a tool's `expectedVersion`: the version the caller's change is based on. */
  readonly expectedVersion?: number
  /** The change that this call belongs to, so that a person can undo it. Copies of the context share it. */
  readonly change?: CallChange
  /** Fires when the caller has disconnected, on surfaces that notice it. */
  readonly signal?: AbortSignal
  /** Stores a job in this transaction. It runs after commit, and is retried until it succeeds. */
  enqueue(job: Job): void
  /** The write that is running; nested writes join it. */
  readonly unit?: Unit
}

interface CallChange {
  readonly id: string
  /** Whether something was recorded for an undo. */
  recorded: boolean
}

/** A write that is running. */
interface Unit {
  action: string
  events: AppEvent[]
  jobs: Job[]
}
