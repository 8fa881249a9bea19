import type { Feature } from '../../feature.ts'
import { removePersonal, retireOfMember } from './account.ts'
import * as events from './events.ts'
import { countForPlan } from './of-token.ts'
import { agentRecord } from './record.ts'
import { agentRoutes } from './routes.ts'
import { agentTools } from './tools.ts'

export const agents: Feature = {
  events: Object.values(events),
  routes: agentRoutes,
  tools: agentTools,
  records: [agentRecord],
  hooks: [removePersonal, retireOfMember, countForPlan],
}
