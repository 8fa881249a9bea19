import type { Feature } from '../../feature.ts'
import * as events from './events.ts'
import { agentMemories, removeAgentMemories, removeMemoryAuthor, restoreAgentMemories } from './hook-handlers.ts'
import { memoryRecord } from './record.ts'
import { memoryRoutes } from './routes.ts'
import { memoryTools } from './tools.ts'

export const memory: Feature = {
  events: Object.values(events),
  records: [memoryRecord],
  routes: memoryRoutes,
  tools: memoryTools,
  hooks: [removeMemoryAuthor, agentMemories, removeAgentMemories, restoreAgentMemories],
}
