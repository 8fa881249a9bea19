import type { Feature } from '../../feature.ts'
import { agentRoutes } from './routes.ts'
import { agentSource } from './searchable.ts'
import { agentTools } from './tools.ts'

export const agents: Feature = { routes: agentRoutes, tools: agentTools, searchable: [agentSource] }
