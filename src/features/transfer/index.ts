import type { Feature } from '../../feature.ts'
import * as events from './events.ts'
import { transferRoutes } from './routes.ts'

/** Export of all data of a team, and import of such a file from another server. */
export const transfer: Feature = { events: Object.values(events), routes: transferRoutes }
