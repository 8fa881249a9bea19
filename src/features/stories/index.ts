import type { Feature } from '../../feature.ts'
import * as events from './events.ts'
import { epicRecord, storyRecord } from './record.ts'
import { storyRoutes } from './routes.ts'

export const stories: Feature = {
  routes: storyRoutes,
  records: [epicRecord, storyRecord],
  events: Object.values(events),
}
