import type { Feature } from '../../feature.ts'
import * as events from './events.ts'
import { mailJobs } from './jobs.ts'
import { mailRoutes } from './routes.ts'
import { outbox } from './service.ts'

export const mail: Feature = { control: [outbox], events: Object.values(events), routes: mailRoutes, jobs: mailJobs }
