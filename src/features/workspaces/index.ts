import type { Feature } from '../../feature.ts'
import * as events from './events.ts'
import { workspaceRoutes } from './routes.ts'

export const workspaces: Feature = { events: Object.values(events), routes: workspaceRoutes }
