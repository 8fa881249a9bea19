import type { Feature } from '../../feature.ts'
import { removeDecisionAuthor } from './account.ts'
import * as events from './events.ts'
import { decisionRecord } from './record.ts'
import { decisionRoutes } from './routes.ts'
import { discussionSync } from './sync.ts'
import { flagProposedDecisions } from './task-hooks.ts'
import { decisionTools } from './tools.ts'

export const decisions: Feature = {
  events: Object.values(events),
  routes: decisionRoutes,
  tools: decisionTools,
  records: [decisionRecord],
  synced: [discussionSync],
  hooks: [removeDecisionAuthor, flagProposedDecisions],
}
