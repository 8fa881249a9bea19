import type { Feature } from '../../feature.ts'
import { specRoutes } from './routes.ts'
import { specSource } from './searchable.ts'
import { specTools } from './tools.ts'

export const specs: Feature = { routes: specRoutes, tools: specTools, searchable: [specSource] }
