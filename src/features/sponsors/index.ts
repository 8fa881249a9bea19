import type { Feature } from '../../feature.ts'
import * as events from './events.ts'
import { sponsorRoutes } from './routes.ts'

export const sponsors: Feature = { events: Object.values(events), routes: sponsorRoutes }
