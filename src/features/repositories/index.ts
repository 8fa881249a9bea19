import type { Feature } from '../../feature.ts'
import * as events from './events.ts'
import { pullRequestsOfFeature } from './feature-hooks.ts'
import { repositoryJobs } from './jobs.ts'
import { repositoryRecord } from './record.ts'
import { repositoryRoutes } from './routes.ts'
import { findByPullRequest } from './search-hooks.ts'
import { repositoryTools } from './tools.ts'

export const repositories: Feature = {
  events: Object.values(events),
  records: [repositoryRecord],
  routes: repositoryRoutes,
  tools: repositoryTools,
  jobs: repositoryJobs,
  hooks: [pullRequestsOfFeature, findByPullRequest],
}
