import type { Feature } from '../../feature.ts'
import { countApprovedDevices, dropApprovedDevices } from './account.ts'
import * as events from './events.ts'
import { deviceRoutes } from './routes.ts'

export const devices: Feature = {
  events: Object.values(events),
  routes: deviceRoutes,
  hooks: [dropApprovedDevices, countApprovedDevices],
}
