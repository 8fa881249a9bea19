import type { Feature } from '../../feature.ts'
import { callersProject } from '../../mcp/hooks.ts'
import { defaultProject } from './current.ts'
import * as events from './events.ts'
import { countForPlan } from './names.ts'
import { projectRecord } from './record.ts'
import { projectRoutes } from './routes.ts'
import { projectTools } from './tools.ts'
import { countInWorkspaces, leaveWorkspace } from './workspace-projects.ts'

export const projects: Feature = {
  events: Object.values(events),
  routes: projectRoutes,
  tools: projectTools,
  records: [projectRecord],
  hooks: [countInWorkspaces, leaveWorkspace, countForPlan, callersProject.handle((ctx) => defaultProject(ctx))],
}
