import type { Feature } from '../../feature.ts'
import * as events from './events.ts'
import { countFiles, moveOfNote, moveOfProject } from './of-record.ts'
import { attachmentRoutes } from './routes.ts'

export const attachments: Feature = {
  events: Object.values(events),
  routes: attachmentRoutes,
  hooks: [moveOfProject, moveOfNote, countFiles],
}
