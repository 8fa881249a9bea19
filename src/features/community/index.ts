import type { Feature } from '../../feature.ts'
import * as events from './events.ts'
import { communityFound } from './found.ts'
import { communityPages } from './html.ts'
import { communityRoutes } from './routes.ts'

export const community: Feature = {
  events: Object.values(events),
  routes: communityRoutes,
  site: communityPages,
  hooks: [communityFound],
}
