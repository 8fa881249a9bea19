import type { Feature } from '../../feature.ts'
import { removePersonal } from './account.ts'
import * as events from './events.ts'
import { moveViews } from './of-project.ts'
import { viewRoutes } from './routes.ts'

export const views: Feature = { events: Object.values(events), routes: viewRoutes, hooks: [removePersonal, moveViews] }
