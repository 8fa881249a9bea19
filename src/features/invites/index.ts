import type { Feature } from '../../feature.ts'
import * as events from './events.ts'
import { inviteHooks } from './received.ts'
import { inviteRoutes } from './routes.ts'
import { inviteSubjects } from './rows.ts'

export const invites: Feature = {
  events: Object.values(events),
  routes: inviteRoutes,
  hooks: [...inviteHooks, inviteSubjects],
}
