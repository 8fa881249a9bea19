import type { Feature } from '../../feature.ts'
import { signOutHooks } from './account.ts'
import * as events from './events.ts'
import { pushJobs } from './jobs.ts'
import { pushRoutes } from './routes.ts'
import { enqueuePushes } from './sending.ts'
import { prepareKey } from './server-key.ts'

export const push: Feature = {
  events: Object.values(events),
  routes: pushRoutes,
  jobs: pushJobs,
  hooks: [...signOutHooks, enqueuePushes],
  prepare: prepareKey,
}
