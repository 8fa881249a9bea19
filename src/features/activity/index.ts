import type { Feature } from '../../feature.ts'
import { agentActivity } from './agent-hooks.ts'
import * as events from './events.ts'
import { activityRoutes } from './routes.ts'
import { activityTools } from './tools.ts'

export const activity: Feature = {
  events: Object.values(events),
  routes: activityRoutes,
  tools: activityTools,
  hooks: [agentActivity],
}
