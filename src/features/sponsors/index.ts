import type { Feature } from '../../feature.ts'
import * as events from './events.ts'
import { sponsorPages, sponsorsInFooter } from './html.ts'
import { sponsorRoutes } from './routes.ts'

export const sponsors: Feature = {
  events: Object.values(events),
  routes: sponsorRoutes,
  site: sponsorPages,
  hooks: [sponsorsInFooter],
}
