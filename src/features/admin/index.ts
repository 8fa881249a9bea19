import type { Feature } from '../../feature.ts'
import { adminJobs } from './jobs.ts'
import { adminRoutes } from './routes.ts'

export const admin: Feature = { routes: adminRoutes, jobs: adminJobs }
