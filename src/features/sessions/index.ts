import type { Feature } from '../../feature.ts'
import { sessionRoutes } from './routes.ts'
import { sessionTools } from './tools.ts'

export const sessions: Feature = { routes: sessionRoutes, tools: sessionTools }
