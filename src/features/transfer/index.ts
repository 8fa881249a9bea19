import type { Feature } from '../../feature.ts'
import * as events from './events.ts'
import { transferRoutes } from './routes.ts'

/** All data of a team as a file, and such a file from another instance. */
export const transfer: Feature = { events: Object.values(events), routes: transferRoutes }
