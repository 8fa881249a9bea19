import type { Feature } from '../../feature.ts'
import { activityRoutes } from './routes.ts'
import { activityTools } from './tools.ts'

export const activity: Feature = { routes: activityRoutes, tools: activityTools }
