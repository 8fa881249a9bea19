import type { Feature } from '../../feature.ts'
import { skillRoutes } from './routes.ts'
import { skillSource } from './searchable.ts'
import { skillTools } from './tools.ts'

export const skills: Feature = { routes: skillRoutes, tools: skillTools, searchable: [skillSource] }
