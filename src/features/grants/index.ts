import type { Feature } from '../../feature.ts'
import { countGrants, endGrantsOfAccount, endGrantsOfAgent, endGrantsOfMember } from './account.ts'
import { add, list, remove } from './admin.ts'
import { clientCommands } from './control.ts'
import { oauthEndpoints } from './endpoints.ts'
import * as events from './events.ts'
import { grantForms, grantPages } from './pages.ts'
import { grantRoutes } from './routes.ts'

/** Programs that users authorize by signing in (OAuth 2.1, as MCP requires), instead of copying a token. */
export const grants: Feature = {
  events: Object.values(events),
  routes: grantRoutes,
  open: oauthEndpoints,
  site: grantPages,
  forms: grantForms,
  control: [clientCommands.list.handle(list), clientCommands.add.handle(add), clientCommands.remove.handle(remove)],
  hooks: [endGrantsOfAccount, countGrants, endGrantsOfMember, endGrantsOfAgent],
}
