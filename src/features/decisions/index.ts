import type { Feature } from '../../feature.ts'
import { decisionRoutes } from './routes.ts'
import { decisionSource } from './searchable.ts'
import { decisionTools } from './tools.ts'

export const decisions: Feature = { routes: decisionRoutes, tools: decisionTools, searchable: [decisionSource] }
