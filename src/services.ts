import type { Authenticator } from './auth/authenticate.ts'
import type { Jwt } from './auth/jwt.ts'
import type { Seal } from './auth/seal.ts'
import type { Config } from './config.ts'
import type { Handler } from './control/command.ts'
import type { ClockWatch } from './db/clock.ts'
import type { Driver } from './db/driver.ts'
import type { Reads } from './db/reads.ts'
import type { Db } from './db/session.ts'
import type { Embedder } from './embeddings/embedder.ts'
import type { Bus } from './events/bus.ts'
import type { Catalogue } from './events/catalogue.ts'
import type { Feature } from './feature.ts'
import type { Hooks } from './hooks.ts'
import type { Jobs } from './jobs/queue.ts'
import type { Hub } from './live/hub.ts'
import type { Log } from './log.ts'
import type { ToolCosts } from './mcp/costs.ts'
import type { Tool } from './mcp/tool.ts'
import type { Mailer } from './outside/mailer.ts'
import type { Outbound } from './outside/outbound.ts'
import type { Records } from './records/kind.ts'
import type { Switchboard } from './tunnel/switchboard.ts'

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
  readonly reads: Reads
  readonly bus: Bus
  readonly jobs: Jobs
  readonly jwt: Jwt
  readonly auth: Authenticator
  readonly secret: string
  readonly seal: Seal
  readonly mailer: Mailer
  readonly embedder: Embedder
  /** All kinds of records. */
  readonly records: Records
  /** The definitions of all events. */
  readonly events: Catalogue
  /** Handlers of the features' hooks, by the hook's name. */
  readonly hooks: Hooks
  /** What the features offer to the surfaces. */
  readonly features: readonly Feature[]
  readonly tools: readonly Tool[]
  /** The handlers of all commands that the command line may send to a server, by their names. */
  readonly control: ReadonlyMap<string, Handler>
  readonly outbound: Outbound
  /** What lists of tools cost a model. */
  readonly toolCosts: ToolCosts
  /** Tells open connections of events. */
  readonly live: Hub
  /** The machines that are connected to this process. */
  readonly tunnels: Switchboard
  /** Current counts of the surfaces, for the admin area: `mcpStreams`, `http`. */
  readonly gauges: Record<string, () => number>
  /** The public address, for links in mails and pages; never taken from a request. */
  url: string
  /** The address that the server listens on, once it does. */
  listening?: { host: string; port: number }
  close(): Promise<void>
}
