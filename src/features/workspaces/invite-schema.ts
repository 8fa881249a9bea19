import {
  array,
  bool,
  email,
  id,
  instant,
  nullable,
  object,
  oneOf,
  optional,
  pageOf,
  paging,
  permissions,
  recordFields,
  type Static,
  text,
  url,
} from '../../schema.ts'
import { teamRoles, Workspace } from './schema.ts'

const inviteStatuses = ['pending', 'accepted', 'declined', 'cancelled', 'expired'] as const

const team = object({ id: id(), name: text(100, { example: 'Analytical Engines' }) })
const role = oneOf(teamRoles, { description: 'The role that the team gets in the workspace' })

/** An invitation of a team to a workspace. */
export const WorkspaceInvite = object({
  ...recordFields,
  workspace: object({
    id: id(),
    name: Workspace.properties.name,
    description: Workspace.properties.description,
    organization: team,
  }),
  email: email(),
  role,
  status: oneOf(inviteStatuses),
  invitedBy: nullable(object({ id: id(), name: text(100, { example: 'Ada Lovelace' }) })),
  expiresAt: instant(),
  closedAt: nullable(instant()),
  team: nullable(team),
})
export type WorkspaceInvite = Static<typeof WorkspaceInvite>

export const WorkspaceInviteSent = object({
  ...WorkspaceInvite.properties,
  link: url({
    example: 'https://tutti.example.com/workspace-invites/01a1eb7b-0b2b-7003-aaf9-8b408fb8b43c',
    description: 'The page where the invited person answers. It is not a secret: it works only for their account',
  }),
  mailed: bool({ description: 'false: this server sends no mail, so pass the link on' }),
})
export type WorkspaceInviteSent = Static<typeof WorkspaceInviteSent>

export const WorkspaceInviteDetail = object({
  ...WorkspaceInvite.properties,
  teams: array(team, 1000, { description: 'The teams that you administer and that are not in the workspace yet' }),
  can: permissions(['accept', 'decline']),
})
export type WorkspaceInviteDetail = Static<typeof WorkspaceInviteDetail>

/** The address is that of a person who administers the team. They choose the team when they accept. */
export const WorkspaceInviteCreate = object({ email: email(), role })
export type WorkspaceInviteCreate = Static<typeof WorkspaceInviteCreate>

export const WorkspaceInviteAccept = object({
  teamId: id({ description: 'The team that joins the workspace. You must be its admin or owner' }),
})
export type WorkspaceInviteAccept = Static<typeof WorkspaceInviteAccept>

export const WorkspaceInviteQuery = object({
  ...paging('createdAt'),
  status: optional(oneOf(inviteStatuses, { description: 'Default: pending' })),
})
export type WorkspaceInviteQuery = Static<typeof WorkspaceInviteQuery>
export const MyWorkspaceInviteQuery = object(paging('createdAt'))
export type MyWorkspaceInviteQuery = Static<typeof MyWorkspaceInviteQuery>
export const WorkspaceInvitePage = pageOf(WorkspaceInvite)
export type WorkspaceInvitePage = Static<typeof WorkspaceInvitePage>
