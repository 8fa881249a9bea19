import type { Feature } from '../../feature.ts'
import * as events from './events.ts'
import { forwardNotifications } from './forwarding.ts'
import { integrationJobs } from './jobs.ts'
import { integrationRoutes } from './routes.ts'

export const integrations: Feature = {
  events: Object.values(events),
  routes: integrationRoutes,
  jobs: integrationJobs,
  hooks: [forwardNotifications],
}
