import type { Feature } from '../../feature.ts'
import { followChanges } from './indexing/follow.ts'
import { movePassages } from './indexing/passages.ts'
import { searchJobs } from './jobs.ts'
import { searchRoutes } from './routes.ts'

export const search: Feature = {
  routes: searchRoutes,
  jobs: searchJobs,
  background: followChanges,
  hooks: [movePassages],
}
