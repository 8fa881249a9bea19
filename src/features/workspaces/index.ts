import type { Feature } from '../../feature.ts'
import * as events from './events.ts'
import { workspaceInvitesAsSubjects } from './invite-rows.ts'
import { cancelOfReclaimed } from './invites.ts'
import { workspaceRoutes } from './routes.ts'

export const workspaces: Feature = {
  events: Object.values(events),
  routes: workspaceRoutes,
  hooks: [workspaceInvitesAsSubjects, cancelOfReclaimed],
}
