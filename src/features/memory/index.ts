import type { Feature } from '../../feature.ts'
import { memoryRoutes } from './routes.ts'
import { memoryTools } from './tools.ts'

export const memory: Feature = { routes: memoryRoutes, tools: memoryTools }
