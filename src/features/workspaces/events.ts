import { defineEvent, text, texts } from '../../events/catalogue.ts'

const ofWorkspace = { kind: 'workspace', scope: 'workspaces:read', feed: 'access', changes: 'rights' } as const
const workspaceData = { name: text } as const

export const workspaceCreated = defineEvent('workspace.created', {
  ...ofWorkspace,
  description: 'A workspace was created',
  data: workspaceData,
})
export const workspaceUpdated = defineEvent('workspace.updated', {
  ...ofWorkspace,
  description: 'A workspace changed',
  data: { ...workspaceData, fields: texts },
})
export const workspaceDeleted = defineEvent('workspace.deleted', {
  ...ofWorkspace,
  deletes: true,
  description: 'A workspace was deleted',
  data: workspaceData,
})
export const workspaceShared = defineEvent('workspace.shared', {
  ...ofWorkspace,
  description: 'A workspace was shared with another team, or the role of a team in it changed',
  data: { ...workspaceData, teamId: text, role: text },
})
export const workspaceUnshared = defineEvent('workspace.unshared', {
  ...ofWorkspace,
  description: 'A team left a workspace or was removed from it',
  data: { ...workspaceData, teamId: text },
})

const ofInvite = {
  kind: 'workspace_invite',
  scope: 'workspaces:read',
  feed: 'access',
  data: { ...workspaceData, email: text, role: text },
} as const
export const workspaceInviteCreated = defineEvent('workspace_invite.created', {
  ...ofInvite,
  description: 'A person was invited to bring a team of theirs into a workspace',
})
export const workspaceInviteRenewed = defineEvent('workspace_invite.renewed', {
  ...ofInvite,
  description: 'An invitation to a workspace was sent again',
})
export const workspaceInviteAccepted = defineEvent('workspace_invite.accepted', {
  ...ofInvite,
  description: 'An invitation to a workspace was accepted: a team joined',
})
export const workspaceInviteDeclined = defineEvent('workspace_invite.declined', {
  ...ofInvite,
  description: 'An invitation to a workspace was declined',
})
export const workspaceInviteCancelled = defineEvent('workspace_invite.cancelled', {
  ...ofInvite,
  description: 'An invitation to a workspace was cancelled, or its workspace was deleted',
})
