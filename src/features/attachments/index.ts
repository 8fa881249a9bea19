import type { Feature } from '../../feature.ts'
import * as events from './events.ts'
import { attachNamedFiles } from './pending.ts'
import { countFiles, moveFilesOfNote, moveFilesOfProject } from './record-hooks.ts'
import { attachmentRoutes } from './routes.ts'

export const attachments: Feature = {
  events: Object.values(events),
  routes: attachmentRoutes,
  hooks: [attachNamedFiles, moveFilesOfProject, moveFilesOfNote, countFiles],
}
