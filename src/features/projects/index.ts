import type { Feature } from '../../feature.ts'
import { projectRoutes } from './routes.ts'
import { projectSource } from './searchable.ts'
import { projectTools } from './tools.ts'

export const projects: Feature = { routes: projectRoutes, tools: projectTools, searchable: [projectSource] }
