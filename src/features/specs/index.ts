import type { Feature } from '../../feature.ts'
import { removeSpecAuthor } from './account.ts'
import * as events from './events.ts'
import { specRecord } from './record.ts'
import { specRoutes } from './routes.ts'
import { specTools } from './tools.ts'

export const specs: Feature = {
  events: Object.values(events),
  routes: specRoutes,
  tools: specTools,
  records: [specRecord],
  hooks: [removeSpecAuthor],
}
