import type { Feature } from '../../feature.ts'
import * as events from './events.ts'
import { communityPages } from './html.ts'
import { communityRoutes } from './routes.ts'
import { communitySearch } from './search-hook.ts'

export const community: Feature = {
  events: Object.values(events),
  routes: communityRoutes,
  site: communityPages,
  hooks: [communitySearch],
}
