import type { AnyElysia } from 'elysia'
import type { Ctx } from './action.ts'
import type { Handler } from './control/command.ts'
import type { EventType } from './events/catalogue.ts'
import * as contents from './features/index.ts'
import type { Registration } from './hooks.ts'
import type { Http } from './http/context.ts'
import type { JobDefinition } from './jobs/queue.ts'
import type { Tool } from './mcp/tool.ts'
import { inOrder } from './mcp/toolsets.ts'
import { type RecordKind, Records } from './records/kind.ts'
import type { SyncEntity } from './records/sync.ts'
import type { App } from './services.ts'

/** A page of HTML. `withSearch`: it has a form that the browser sends by itself. */
export interface Page {
  body: string
  withSearch?: boolean
}

/** Returns a page. `params` are those of its path, `query` is what is searched for. */
export type PageOf = (ctx: Ctx, params: Record<string, string>, query: string) => Promise<Page>

/** What a page of the public site gets of a request. */
export interface SiteRequest {
  path: string
  params: Record<string, string>
  query: URLSearchParams
  ifNoneMatch: string | null
}

/** A page of the public site with its own headers; the server adds those that every response has. */
export interface SiteAnswer {
  status: number
  headers: Record<string, string>
  body: string | ReadableStream<Uint8Array> | null
}

/** Returns a page of the public site, the same for every reader. Undefined, for `/` only: the usual page. */
export type SitePageOf = (ctx: Ctx, request: SiteRequest) => Promise<SiteAnswer | undefined>

/** Takes a form of the public site, which browsers send without any script. */
export type SiteFormOf = (ctx: Ctx, fields: URLSearchParams) => Promise<SiteAnswer>

/** What a feature offers to the surfaces; exported by its index.ts. */
export interface Feature {
  routes?: (http: Http) => AnyElysia
  tools?: Tool[]
  jobs?: JobDefinition[]
  /** The events it emits: all exports of its events.ts. */
  events?: readonly EventType[]
  /** Its kinds of records, for search, links, MCP resources and other code that works on all kinds. */
  records?: readonly RecordKind[]
  /** What hangs on records and is synced with them, such as comments. Kinds of records say `sync` themselves. */
  synced?: readonly SyncEntity[]
  /** HTML pages that anyone can open, by path. */
  pages?: Readonly<Record<string, PageOf>>
  /** Pages of the public site, by path. */
  site?: Readonly<Record<string, SitePageOf>>
  /** Forms of the public site, by the path that they are sent to. */
  forms?: Readonly<Record<string, SiteFormOf>>
  /** Handlers of the commands that the command line sends to a running server, through its control socket. */
  control?: readonly Handler[]
  /** Its handlers for hooks of the features below it. */
  hooks?: readonly Registration[]
  /** Runs at each start of a server, before it takes requests; not for one-off commands. */
  prepare?: (app: App) => Promise<void>
  /** Starts work that runs beside requests; returns a function that stops it. */
  background?: (app: App) => () => Promise<void>
}

export const features: readonly Feature[] = Object.values(contents)
export const tools: Tool[] = inOrder(features.flatMap((f) => f.tools ?? []))
export const jobs: JobDefinition[] = features.flatMap((f) => f.jobs ?? [])
export const records = new Records(
  features.flatMap((f) => f.records ?? []),
  features.flatMap((f) => f.synced ?? []),
)
export const events: EventType[] = features.flatMap((f) => f.events ?? [])
