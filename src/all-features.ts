import type { EventType } from './events/catalogue.ts'
import type { Feature } from './feature.ts'
import * as contents from './features/index.ts'
import type { JobDefinition } from './jobs/definition.ts'
import type { Tool } from './mcp/tool.ts'
import { sortTools } from './mcp/toolsets.ts'
import { Records } from './records/kind.ts'
import type { App } from './services.ts'

/** Everything that the features offer, gathered. Only `app.ts`, commands that need no server, and tests import it. */
export const features: readonly Feature[] = Object.values(contents)
export const tools: Tool[] = sortTools(features.flatMap((f) => f.tools ?? []))
export const jobs: JobDefinition<App>[] = features.flatMap((f) => f.jobs ?? [])
export const records = new Records(
  features.flatMap((f) => f.records ?? []),
  features.flatMap((f) => f.synced ?? []),
)
export const events: EventType[] = features.flatMap((f) => f.events ?? [])
