import type { Feature } from '../../feature.ts'
import { planningRoutes } from './routes.ts'
import { planningTools } from './tools.ts'

export const planning: Feature = { routes: planningRoutes, tools: planningTools }
