import type { Feature } from '../../feature.ts'
import * as events from './events.ts'
import { inviteRoutes } from './routes.ts'
import { inviteHooks } from './service.ts'

export const invites: Feature = { events: Object.values(events), routes: inviteRoutes, hooks: inviteHooks }
