import type { AnyElysia } from 'elysia'
import type { EventType } from './events/catalogue.ts'
import * as contents from './features/index.ts'
import type { Source } from './features/search/source.ts'
import type { Registration } from './hooks.ts'
import type { Http } from './http/context.ts'
import type { JobDefinition } from './jobs/queue.ts'
import { inOrder } from './mcp/order.ts'
import type { Tool } from './mcp/tool.ts'
import type { App } from './services.ts'

/** What a feature offers to the surfaces. Its folder's index.ts says so. */
export interface Feature {
  routes?: (http: Http) => AnyElysia
  tools?: Tool[]
  jobs?: JobDefinition[]
  /** What it emits: all exports of its events.ts. */
  events?: readonly EventType[]
  /** How its records are found. */
  searchable?: readonly Source[]
  /** How it takes part in what features below it do. */
  hooks?: readonly Registration[]
  /** What goes on beside requests; gives what ends it. */
  background?: (app: App) => () => Promise<void>
}

export const features: readonly Feature[] = Object.values(contents)
export const tools: Tool[] = inOrder(features.flatMap((f) => f.tools ?? []))
export const jobs: JobDefinition[] = features.flatMap((f) => f.jobs ?? [])
export const sources: Source[] = features.flatMap((f) => f.searchable ?? [])
export const events: EventType[] = features.flatMap((f) => f.events ?? [])
