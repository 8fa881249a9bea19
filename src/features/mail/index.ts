import type { Feature } from '../../feature.ts'
import { mailJobs } from './jobs.ts'
import { mailRoutes } from './routes.ts'

export const mail: Feature = { routes: mailRoutes, jobs: mailJobs }
