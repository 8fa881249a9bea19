import type { Feature } from '../../feature.ts'
import { revokeMachines } from './account.ts'
import { serveTunnels } from './background.ts'
import * as events from './events.ts'
import { tunnelRoutes } from './routes.ts'

export const tunnels: Feature = {
  events: Object.values(events),
  routes: tunnelRoutes,
  hooks: [revokeMachines],
  background: serveTunnels,
}
