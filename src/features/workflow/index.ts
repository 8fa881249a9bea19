import type { Feature } from '../../feature.ts'
import { removeUserFromFeatures } from './account.ts'
import * as events from './events.ts'
import { countFeatures } from './project-hooks.ts'
import { featureRecord } from './record.ts'
import { workflowRoutes } from './routes.ts'
import { featuresOfTask, flagChangesAsked } from './task-hooks.ts'
import { workflowTools } from './tools.ts'

export const workflow: Feature = {
  events: Object.values(events),
  routes: workflowRoutes,
  tools: workflowTools,
  records: [featureRecord],
  hooks: [removeUserFromFeatures, countFeatures, featuresOfTask, flagChangesAsked],
}
