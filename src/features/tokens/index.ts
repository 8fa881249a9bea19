import type { Feature } from '../../feature.ts'
import { clientIntroduced } from '../../mcp/hooks.ts'
import { countSecrets, revokeAll } from './account.ts'
import { introduce, nameTokens, replaceAgent } from './agents.ts'
import * as events from './events.ts'
import { tokenRoutes } from './routes.ts'

export const tokens: Feature = {
  events: Object.values(events),
  routes: tokenRoutes,
  hooks: [revokeAll, countSecrets, replaceAgent, nameTokens, clientIntroduced.handle(introduce)],
}
