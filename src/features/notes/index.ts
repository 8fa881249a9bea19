import type { Feature } from '../../feature.ts'
import * as events from './events.ts'
import { noteStats, removeNoteAuthor } from './hook-handlers.ts'
import { noteRecord } from './record.ts'
import { noteRoutes } from './routes.ts'
import { noteTools } from './tools.ts'

export const notes: Feature = {
  events: Object.values(events),
  routes: noteRoutes,
  tools: noteTools,
  records: [noteRecord],
  hooks: [removeNoteAuthor, noteStats],
}
