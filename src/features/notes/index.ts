import type { Feature } from '../../feature.ts'
import { noteRoutes } from './routes.ts'
import { noteSource } from './searchable.ts'
import { noteTools } from './tools.ts'

export const notes: Feature = { routes: noteRoutes, tools: noteTools, searchable: [noteSource] }
