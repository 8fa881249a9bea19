import type { Feature } from '../../feature.ts'
import * as events from './events.ts'
import { storyRoutes } from './routes.ts'
import { storySources } from './searchable.ts'

export const stories: Feature = { routes: storyRoutes, searchable: storySources, events: Object.values(events) }
