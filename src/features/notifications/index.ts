import type { Feature } from '../../feature.ts'
import * as events from './events.ts'
import { notificationJobs } from './jobs.ts'
import { ownerHooks } from './owners.ts'
import { notificationRoutes } from './routes.ts'

export const notifications: Feature = {
  events: Object.values(events),
  routes: notificationRoutes,
  jobs: notificationJobs,
  hooks: ownerHooks,
}
