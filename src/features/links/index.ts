import type { Feature } from '../../feature.ts'
import * as events from './events.ts'
import { linkRoutes } from './routes.ts'
import { linkSync } from './sync.ts'

export const links: Feature = { events: Object.values(events), routes: linkRoutes, synced: [linkSync] }
