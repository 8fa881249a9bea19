import type { Feature } from '../../feature.ts'
import { workflowRoutes } from './routes.ts'
import { featureSource } from './searchable.ts'
import { workflowTools } from './tools.ts'

export const workflow: Feature = { routes: workflowRoutes, tools: workflowTools, searchable: [featureSource] }
