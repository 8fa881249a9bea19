import type { Feature } from '../../feature.ts'
import { teamRoutes } from './routes.ts'

/** What a team has and does, across all features. The team itself and its members: features/organizations. */
export const teams: Feature = { routes: teamRoutes }
