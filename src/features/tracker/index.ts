import type { Feature } from '../../feature.ts'
import * as events from './events.ts'
import { trackerJobs } from './jobs.ts'
import { trackerRoutes } from './routes.ts'

export const tracker: Feature = { events: Object.values(events), routes: trackerRoutes, jobs: trackerJobs }
