import type { Feature } from '../../feature.ts'
import { signInHooks } from './account.ts'
import * as events from './events.ts'
import { prepareIssuers } from './issuers.ts'
import { oauthRoutes } from './routes.ts'

export const oauth: Feature = {
  events: Object.values(events),
  routes: oauthRoutes,
  hooks: signInHooks,
  prepare: prepareIssuers,
}
