import type { Feature } from '../../feature.ts'
import { projectRoutes } from './routes.ts'
import { projectTools } from './tools.ts'

export const projects: Feature = { routes: projectRoutes, tools: projectTools }
