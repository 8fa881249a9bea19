import type { Feature } from '../../feature.ts'
import * as events from './events.ts'
import { agentActivity } from './of-agent.ts'
import { activityRoutes } from './routes.ts'
import { activityTools } from './tools.ts'

export const activity: Feature = {
  events: Object.values(events),
  routes: activityRoutes,
  tools: activityTools,
  hooks: [agentActivity],
}
