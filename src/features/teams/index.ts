import type { Feature } from '../../feature.ts'
import { dayJobs } from './days.ts'
import { teamRoutes } from './routes.ts'

/** Lists, activity and analytics of a team across all features. `organizations` has the team and its members. */
export const teams: Feature = { routes: teamRoutes, jobs: dayJobs }
