import type { Feature } from '../../feature.ts'
import * as events from './events.ts'
import { countWorkspaceGuests, removeWorkspaceGuests } from './guest-workspaces.ts'
import { workspaceInvitesAsSubjects } from './invite-rows.ts'
import { workspaceRoutes } from './routes.ts'

export const workspaces: Feature = {
  events: Object.values(events),
  routes: workspaceRoutes,
  hooks: [workspaceInvitesAsSubjects, countWorkspaceGuests, removeWorkspaceGuests],
}
