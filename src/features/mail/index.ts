import type { Feature } from '../../feature.ts'
import * as events from './events.ts'
import { mailJobs } from './jobs.ts'
import { mailRoutes } from './routes.ts'

export const mail: Feature = { events: Object.values(events), routes: mailRoutes, jobs: mailJobs }
