import type { Feature } from '../../feature.ts'
import * as events from './events.ts'
import { moveSessions, sessionPort } from './port.ts'
import { sessionRoutes } from './routes.ts'
import { sessionSource } from './searchable.ts'
import { sessionTools } from './tools.ts'

export const sessions: Feature = {
  events: Object.values(events),
  routes: sessionRoutes,
  tools: sessionTools,
  searchable: [sessionSource],
  hooks: [sessionPort, moveSessions],
}
