import type { AnyElysia } from 'elysia'
import type { Http } from '../http/context.ts'
import type { JobDefinition } from '../jobs/queue.ts'
import type { Tool } from '../mcp/tool.ts'
import { accountRoutes } from './accounts/routes.ts'
import { manualRoutes } from './manual/routes.ts'
import { noteRoutes } from './notes/routes.ts'
import { noteTools } from './notes/tools.ts'
import { organizationRoutes } from './organizations/routes.ts'
import { planningRoutes } from './planning/routes.ts'
import { planningTools } from './planning/tools.ts'
import { projectRoutes } from './projects/routes.ts'
import { projectTools } from './projects/tools.ts'
import { tokenRoutes } from './tokens/routes.ts'
import { upkeepJobs } from './upkeep/jobs.ts'

/** THE TABLE OF CONTENTS. A new resource is one line here; nothing is discovered. */
interface Feature {
  name: string
  routes?: (http: Http) => AnyElysia
  tools?: Tool[]
  jobs?: JobDefinition[]
}

export const features: readonly Feature[] = [
  { name: 'accounts', routes: accountRoutes },
  { name: 'organizations', routes: organizationRoutes },
  { name: 'tokens', routes: tokenRoutes },
  { name: 'projects', routes: projectRoutes, tools: projectTools },
  { name: 'planning', routes: planningRoutes, tools: planningTools },
  { name: 'notes', routes: noteRoutes, tools: noteTools },
  { name: 'manual', routes: manualRoutes },
  { name: 'upkeep', jobs: upkeepJobs },
]

export const tools: Tool[] = features.flatMap((f) => f.tools ?? [])
export const jobs: JobDefinition[] = features.flatMap((f) => f.jobs ?? [])
