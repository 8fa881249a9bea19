import type { Feature } from '../../feature.ts'
import { callReceived } from '../../http/hooks.ts'
import { ownTasks } from '../../mcp/hooks.ts'
import { streamsChanged } from '../connections/hooks.ts'
import { removeUserFromTasks } from './account.ts'
import { agentOpenTasks, releaseRemovedAgent, releaseStoppedAgent } from './agent-hooks.ts'
import { dependencySync } from './dependencies/dependency-sync.ts'
import * as events from './events.ts'
import { agentsAtWork } from './leases/active-agents.ts'
import { markLeaseStreams, renewLeases } from './leases/renewal.ts'
import { taskJobs } from './leases/stalled.ts'
import { listMyTasks } from './lists/my-tasks.ts'
import { storyProgress } from './lists/progress.ts'
import { lockTasks, taskStats, taskWork } from './project-hooks.ts'
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
    removeUserFromTasks,
    storyProgress,
    agentsAtWork,
    taskStats,
    taskWork,
    lockTasks,
    agentOpenTasks,
    releaseRemovedAgent,
    releaseStoppedAgent,
    callReceived.handle(async (ctx, named) => void renewLeases(ctx, named)),
    streamsChanged.handle(markLeaseStreams),
    ownTasks.handle((ctx) => listMyTasks(ctx, {})),
  ],
}
