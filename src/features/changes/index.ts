import type { Feature } from '../../feature.ts'
import { removeChanges } from './account.ts'
import * as events from './events.ts'
import { changeJobs } from './jobs.ts'
import { recordChange } from './recording.ts'
import { changeRoutes } from './routes.ts'
import { watchChanges } from './watching.ts'

export const changes: Feature = {
  routes: changeRoutes,
  jobs: changeJobs,
  events: Object.values(events),
  hooks: [recordChange, removeChanges, watchChanges],
}
