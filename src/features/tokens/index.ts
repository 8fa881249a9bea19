import type { Feature } from '../../feature.ts'
import { clientIntroduced } from '../../mcp/hooks.ts'
import { countSecrets, revokeKeysAndTokens } from './account.ts'
import { introduceProgram, nameTokens, replaceAgent } from './agents.ts'
import * as events from './events.ts'
import { tokenRoutes } from './routes.ts'

export const tokens: Feature = {
  events: Object.values(events),
  routes: tokenRoutes,
  hooks: [revokeKeysAndTokens, countSecrets, replaceAgent, nameTokens, clientIntroduced.handle(introduceProgram)],
}
