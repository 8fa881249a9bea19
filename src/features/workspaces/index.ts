import type { Feature } from '../../feature.ts'
import * as events from './events.ts'
import { workspaceInvitesAsSubjects } from './invite-rows.ts'
import { countWorkspaceGuests, removeWorkspaceGuests } from './reclaimed.ts'
import { workspaceRoutes } from './routes.ts'

export const workspaces: Feature = {
  events: Object.values(events),
  routes: workspaceRoutes,
  hooks: [workspaceInvitesAsSubjects, countWorkspaceGuests, removeWorkspaceGuests],
}
