import { define, text, texts } from '../../events/catalogue.ts'

const ofWorkspace = { kind: 'workspace', scope: 'workspaces:read', feed: 'access', changes: 'rights' } as const
const shown = { name: text } as const

export const workspaceCreated = define('workspace.created', {
  ...ofWorkspace,
  description: 'A workspace was created',
  data: shown,
})
export const workspaceUpdated = define('workspace.updated', {
  ...ofWorkspace,
  description: 'A workspace changed',
  data: { ...shown, fields: texts },
})
export const workspaceDeleted = define('workspace.deleted', {
  ...ofWorkspace,
  deletes: true,
  description: 'A workspace was deleted',
  data: shown,
})
export const workspaceShared = define('workspace.shared', {
  ...ofWorkspace,
  description: 'A workspace was shared with another team, or the role of a team in it changed',
  data: { ...shown, teamId: text, role: text },
})
export const workspaceUnshared = define('workspace.unshared', {
  ...ofWorkspace,
  description: 'A team left a workspace or was removed from it',
  data: { ...shown, teamId: text },
})

const ofInvite = {
  kind: 'workspace_invite',
  scope: 'workspaces:read',
  feed: 'access',
  data: { ...shown, email: text, role: text },
} as const
export const workspaceInviteCreated = define('workspace_invite.created', {
  ...ofInvite,
  description: 'A person was invited to bring a team of theirs into a workspace',
})
export const workspaceInviteRenewed = define('workspace_invite.renewed', {
  ...ofInvite,
  description: 'An invitation to a workspace was sent again',
})
export const workspaceInviteAccepted = define('workspace_invite.accepted', {
  ...ofInvite,
  description: 'An invitation to a workspace was accepted: a team joined',
})
export const workspaceInviteDeclined = define('workspace_invite.declined', {
  ...ofInvite,
  description: 'An invitation to a workspace was declined',
})
export const workspaceInviteCancelled = define('workspace_invite.cancelled', {
  ...ofInvite,
  description: 'An invitation to a workspace was cancelled, or its workspace was deleted',
})
