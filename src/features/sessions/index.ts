import type { Feature } from '../../feature.ts'
import { sessionRoutes } from './routes.ts'
import { sessionSource } from './searchable.ts'
import { sessionTools } from './tools.ts'

export const sessions: Feature = { routes: sessionRoutes, tools: sessionTools, searchable: [sessionSource] }
