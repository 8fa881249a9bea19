import type { Feature } from '../../feature.ts'
import * as events from './events.ts'
import { marketplacePages } from './html.ts'
import { marketplaceRoutes } from './routes.ts'

export const marketplace: Feature = {
  events: Object.values(events),
  routes: marketplaceRoutes,
  site: marketplacePages,
}
