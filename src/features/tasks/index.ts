import type { Feature } from '../../feature.ts'
import { callReceived } from '../../http/hooks.ts'
import { ownTasks } from '../../mcp/hooks.ts'
import { streamsChanged } from '../connections/hooks.ts'
import { withoutUser } from './account.ts'
import { dependencySync } from './dependencies/dependency-sync.ts'
import * as events from './events.ts'
import { agentsAtWork } from './leases/at-work.ts'
import { markLeases, renewLeases } from './leases/renewal.ts'
import { taskJobs } from './leases/stalled.ts'
import { mine } from './lists/mine.ts'
import { progress } from './lists/progress.ts'
import { agentLetsGo, agentTasks, stoppedLetsGo } from './of-agent.ts'
import { lockTasks, taskStats, taskWork } from './of-project.ts'
import { taskRecord } from './record.ts'
import { taskRoutes } from './routes.ts'
import { commentSync } from './sync.ts'
import { taskTools } from './tools.ts'

export const tasks: Feature = {
  events: Object.values(events),
  routes: taskRoutes,
  tools: taskTools,
  jobs: taskJobs,
  records: [taskRecord],
  synced: [commentSync, dependencySync],
  hooks: [
    withoutUser,
    progress,
    agentsAtWork,
    taskStats,
    taskWork,
    lockTasks,
    agentTasks,
    agentLetsGo,
    stoppedLetsGo,
    callReceived.handle(async (ctx, named) => void renewLeases(ctx, named)),
    streamsChanged.handle(markLeases),
    ownTasks.handle((ctx) => mine(ctx, {})),
  ],
}
