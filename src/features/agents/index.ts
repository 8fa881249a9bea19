import type { Feature } from '../../feature.ts'
import { archiveAgentsOfMember, removePersonalAgents } from './account.ts'
import * as events from './events.ts'
import { agentRecord } from './record.ts'
import { agentRoutes } from './routes.ts'
import { countAgentsForPlan } from './token-agents.ts'
import { agentTools } from './tools.ts'

export const agents: Feature = {
  events: Object.values(events),
  routes: agentRoutes,
  tools: agentTools,
  records: [agentRecord],
  hooks: [removePersonalAgents, archiveAgentsOfMember, countAgentsForPlan],
}
