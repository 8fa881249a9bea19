import type { Feature } from '../../feature.ts'
import { storyRoutes } from './routes.ts'
import { storySources } from './searchable.ts'

export const stories: Feature = { routes: storyRoutes, searchable: storySources }
