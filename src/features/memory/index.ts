import type { Feature } from '../../feature.ts'
import * as events from './events.ts'
import { agentMemories, removeAgentMemories, restoreAgentMemories, withoutAuthor } from './of-agent.ts'
import { memoryRecord } from './record.ts'
import { memoryRoutes } from './routes.ts'
import { memoryTools } from './tools.ts'

export const memory: Feature = {
  events: Object.values(events),
  records: [memoryRecord],
  routes: memoryRoutes,
  tools: memoryTools,
  hooks: [withoutAuthor, agentMemories, removeAgentMemories, restoreAgentMemories],
}
