import type { Feature } from '../../feature.ts'
import { streamsChanged } from '../connections/hooks.ts'
import * as events from './events.ts'
import { markSessions, moveSessions, sessionPort } from './port.ts'
import { sessionRecord } from './record.ts'
import { sessionRoutes } from './routes.ts'
import { sessionTools } from './tools.ts'

export const sessions: Feature = {
  events: Object.values(events),
  routes: sessionRoutes,
  tools: sessionTools,
  records: [sessionRecord],
  hooks: [sessionPort, moveSessions, streamsChanged.handle(markSessions)],
}
