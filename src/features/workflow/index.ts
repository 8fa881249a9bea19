import type { Feature } from '../../feature.ts'
import { withoutUser } from './account.ts'
import * as events from './events.ts'
import { openGates } from './of-project.ts'
import { featuresOfTask } from './of-task.ts'
import { featureRecord } from './record.ts'
import { workflowRoutes } from './routes.ts'
import { workflowTools } from './tools.ts'

export const workflow: Feature = {
  events: Object.values(events),
  routes: workflowRoutes,
  tools: workflowTools,
  records: [featureRecord],
  hooks: [withoutUser, openGates, featuresOfTask],
}
