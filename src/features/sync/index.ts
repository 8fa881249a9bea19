import type { Feature } from '../../feature.ts'
import * as events from './events.ts'
import { syncRoutes } from './routes.ts'

export const sync: Feature = { events: Object.values(events), routes: syncRoutes }
