import type { Feature } from '../../feature.ts'
import { removePersonalViews } from './account.ts'
import * as events from './events.ts'
import { moveViews } from './project-hooks.ts'
import { viewRoutes } from './routes.ts'

export const views: Feature = {
  events: Object.values(events),
  routes: viewRoutes,
  hooks: [removePersonalViews, moveViews],
}
