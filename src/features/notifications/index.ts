import type { Feature } from '../../feature.ts'
import { notificationJobs } from './jobs.ts'
import { notificationRoutes } from './routes.ts'

export const notifications: Feature = { routes: notificationRoutes, jobs: notificationJobs }
