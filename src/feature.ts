import type { AnyElysia } from 'elysia'
import type { Ctx } from './action.ts'
import type { CommandHandler } from './control/command.ts'
import type { EventType } from './events/catalogue.ts'
import type { HookRegistration } from './hooks.ts'
import type { Http } from './http/context.ts'
import type { JobDefinition } from './jobs/definition.ts'
import type { AcceptSocket } from './live/socket.ts'
import type { Tool } from './mcp/tool.ts'
import type { RecordKind } from './records/kind.ts'
import type { SyncEntity } from './records/sync.ts'
import type { App } from './services.ts'

/** A page of HTML. `withSearch`: it has a form that the browser sends by itself. */
interface HtmlPage {
  body: string
  withSearch?: boolean
}

/** Returns a page. `params` are those of its path, `query` is what is searched for. */
export type PageRenderer = (ctx: Ctx, params: Record<string, string>, query: string) => Promise<HtmlPage>

/** What a page of the public site gets of a request. */
export interface SiteRequest {
  path: string
  params: Record<string, string>
  query: URLSearchParams
  ifNoneMatch: string | null
  /** The address of this server, as the caller knows it. */
  base: string
  /** For `/` only: the theme that the reader has chosen. */
  theme?: string | undefined
}

/** A page of the public site with its own headers; the server adds those that every response has. */
export interface SiteResponse {
  status: number
  headers: Record<string, string>
  body: string | ReadableStream<Uint8Array> | null
}

/** Returns a page of the public site, the same for every reader. Undefined: there is no such page. */
export type SitePageRenderer = (ctx: Ctx, request: SiteRequest) => Promise<SiteResponse | undefined>

/** Who sent a form. */
interface FormSender {
  base: string
  /** Returns the context of the signed-in person; throws 401 without one. */
  signedIn(): Promise<Ctx>
}

/** Handles a form that browsers send without a script; `ctx` is anonymous. */
export type SiteFormHandler = (ctx: Ctx, fields: URLSearchParams, sender: FormSender) => Promise<SiteResponse>

/**
 * An endpoint of a standard that has its own errors. Programs call it, also from pages of other origins, without a
 * credential. Undefined: not found.
 */
export type OpenEndpoint = (
  ctx: Ctx,
  request: { base: string; body: Uint8Array; contentType: string },
) => Promise<SiteResponse | undefined>

/** A request of another instance on the same database. The feature checks its signature. */
interface InternalRequest {
  request: Request
  params: Record<string, string>
  /** Turns it into a WebSocket; false if it did not ask for that. */
  upgrade(data: { accept: AcceptSocket }): boolean
}
export type InternalEndpoint = (app: App, request: InternalRequest) => Promise<void>

/** What a feature offers to the surfaces; exported by its index.ts. */
export interface Feature {
  routes?: (http: Http) => AnyElysia
  tools?: Tool[]
  jobs?: JobDefinition<App>[]
  /** The events it emits: all exports of its events.ts. */
  events?: readonly EventType[]
  /** Its kinds of records, for search, links, MCP resources and other code that works on all kinds. */
  records?: readonly RecordKind<Ctx>[]
  /** Synced entities that belong to records, such as comments. Kinds of records have their own `sync`. */
  synced?: readonly SyncEntity<Ctx>[]
  /** HTML pages that anyone can open, by path. */
  pages?: Readonly<Record<string, PageRenderer>>
  /** Pages of the public site, by path. */
  site?: Readonly<Record<string, SitePageRenderer>>
  /** Returns a page of the public site that is in memory; undefined if it has to be made. */
  keptPage?: (app: App, request: Pick<SiteRequest, 'path' | 'ifNoneMatch'>) => SiteResponse | undefined
  /** Forms of the public site, by the path that they are sent to. */
  forms?: Readonly<Record<string, SiteFormHandler>>
  /** Endpoints of standards, by method and path: `POST /oauth/token`. */
  open?: Readonly<Record<string, OpenEndpoint>>
  /** Handlers of the commands that the command line sends to a running server, through its control socket. */
  control?: readonly CommandHandler[]
  /** Its handlers for hooks of the features below it. */
  hooks?: readonly HookRegistration[]
  /** Endpoints for other instances, by path under `/internal/`. */
  internal?: Readonly<Record<string, InternalEndpoint>>
  /** Runs at each start of a server, before it takes requests; not for one-off commands. */
  prepare?: (app: App) => Promise<void>
  /** Starts work that runs beside requests; returns a function that stops it. */
  background?: (app: App) => () => Promise<void>
}

/** The app with what its features offer, for the surfaces. Actions get an `App`: they know no surface. */
export interface AppWithFeatures extends App {
  readonly features: readonly Feature[]
  readonly tools: readonly Tool[]
  /** The handlers of all commands that the command line may send to a server, by their names. */
  readonly control: ReadonlyMap<string, CommandHandler>
}
