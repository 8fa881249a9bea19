import type { Feature } from '../../feature.ts'
import { localMcp } from '../../mcp/hooks.ts'
import { countMachines, revokeMachines } from './account.ts'
import { serveTunnels } from './background.ts'
import { handoverPath } from './dialers.ts'
import * as events from './events.ts'
import { takeHandover } from './handover.ts'
import { forwardToMcp } from './mcp.ts'
import { tunnelRoutes } from './routes.ts'
import { watchTunnels } from './watching.ts'

export const tunnels: Feature = {
  events: Object.values(events),
  routes: tunnelRoutes,
  hooks: [revokeMachines, countMachines, watchTunnels, localMcp.handle(forwardToMcp)],
  internal: { [handoverPath(':id')]: takeHandover },
  background: serveTunnels,
}
