import type { Feature } from '../../feature.ts'
import * as events from './events.ts'
import { countInWorkspaces, leaveWorkspace } from './in-workspaces.ts'
import { projectRoutes } from './routes.ts'
import { projectSource } from './searchable.ts'
import { projectTools } from './tools.ts'

export const projects: Feature = {
  events: Object.values(events),
  routes: projectRoutes,
  tools: projectTools,
  searchable: [projectSource],
  hooks: [countInWorkspaces, leaveWorkspace],
}
