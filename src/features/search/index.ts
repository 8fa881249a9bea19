import type { Feature } from '../../feature.ts'
import { follow } from './follow.ts'
import { searchJobs } from './jobs.ts'
import { movePassages } from './passages.ts'
import { searchRoutes } from './routes.ts'

export const search: Feature = { routes: searchRoutes, jobs: searchJobs, background: follow, hooks: [movePassages] }
