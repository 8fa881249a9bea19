import type { Feature } from '../../feature.ts'
import * as events from './events.ts'
import { exportChats, moveChats } from './hook-handlers.ts'
import { assistantRoutes } from './routes.ts'

export const assistant: Feature = {
  events: Object.values(events),
  routes: assistantRoutes,
  hooks: [exportChats, moveChats],
}
