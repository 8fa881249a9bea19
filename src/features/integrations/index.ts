import type { Feature } from '../../feature.ts'
import { integrationJobs } from './jobs.ts'
import { integrationRoutes } from './routes.ts'

export const integrations: Feature = { routes: integrationRoutes, jobs: integrationJobs }
