import type { Feature } from '../../feature.ts'
import { streamsChanged } from '../connections/hooks.ts'
import * as events from './events.ts'
import { sessionRecord } from './record.ts'
import { sessionRoutes } from './routes.ts'
import { sessionTools } from './tools.ts'
import { markSessionStreams, moveSessions, sessionPort } from './work-session-port.ts'

export const sessions: Feature = {
  events: Object.values(events),
  routes: sessionRoutes,
  tools: sessionTools,
  records: [sessionRecord],
  hooks: [sessionPort, moveSessions, streamsChanged.handle(markSessionStreams)],
}
