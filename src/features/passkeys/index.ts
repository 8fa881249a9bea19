import type { Feature } from '../../feature.ts'
import { signInHooks } from './account.ts'
import * as events from './events.ts'
import { passkeyRoutes } from './routes.ts'

export const passkeys: Feature = { events: Object.values(events), routes: passkeyRoutes, hooks: signInHooks }
