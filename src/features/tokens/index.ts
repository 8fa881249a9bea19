import type { Feature } from '../../feature.ts'
import { revokeAll } from './account.ts'
import * as events from './events.ts'
import { tokenRoutes } from './routes.ts'

export const tokens: Feature = { events: Object.values(events), routes: tokenRoutes, hooks: [revokeAll] }
