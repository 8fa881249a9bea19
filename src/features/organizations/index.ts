import type { Feature } from '../../feature.ts'
import { organizationRoutes } from './routes.ts'

export const organizations: Feature = { routes: organizationRoutes }
