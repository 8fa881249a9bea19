import type { Feature } from '../../feature.ts'
import { decisionRoutes } from './routes.ts'
import { decisionTools } from './tools.ts'

export const decisions: Feature = { routes: decisionRoutes, tools: decisionTools }
