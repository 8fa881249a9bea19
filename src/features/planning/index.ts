import type { Feature } from '../../feature.ts'
import { changeOutline } from './deletion.ts'
import * as events from './events.ts'
import { planningRoutes } from './routes.ts'
import { planningTools } from './tools.ts'

export const planning: Feature = {
  routes: planningRoutes,
  tools: planningTools,
  events: Object.values(events),
  hooks: [changeOutline],
}
