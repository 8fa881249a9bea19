import type { Feature } from '../../feature.ts'
import * as events from './events.ts'
import { organizationRoutes } from './routes.ts'

export const organizations: Feature = { events: Object.values(events), routes: organizationRoutes }
