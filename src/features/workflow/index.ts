import type { Feature } from '../../feature.ts'
import { withoutUser } from './account.ts'
import * as events from './events.ts'
import { workflowRoutes } from './routes.ts'
import { featureSource } from './searchable.ts'
import { workflowTools } from './tools.ts'

export const workflow: Feature = {
  events: Object.values(events),
  routes: workflowRoutes,
  tools: workflowTools,
  searchable: [featureSource],
  hooks: [withoutUser],
}
