import type { Feature } from '../../feature.ts'
import * as events from './events.ts'
import { issueRoutes } from './routes.ts'

export const issues: Feature = { events: Object.values(events), routes: issueRoutes }
