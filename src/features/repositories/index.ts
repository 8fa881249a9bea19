import type { Feature } from '../../feature.ts'
import { repositoryJobs } from './jobs.ts'
import { repositoryRoutes } from './routes.ts'
import { repositoryTools } from './tools.ts'

export const repositories: Feature = { routes: repositoryRoutes, tools: repositoryTools, jobs: repositoryJobs }
