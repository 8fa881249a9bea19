import type { Feature } from '../../feature.ts'
import { progress } from './progress.ts'
import { taskRoutes } from './routes.ts'
import { taskSource } from './searchable.ts'
import { taskTools } from './tools.ts'

export const tasks: Feature = { routes: taskRoutes, tools: taskTools, searchable: [taskSource], hooks: [progress] }
