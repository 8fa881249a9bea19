import { define, text, texts } from '../../events/catalogue.ts'

const ofWorkspace = { kind: 'workspace', told: 'access', changes: 'rights' } as const
const shown = { name: text } as const

export const workspaceCreated = define('workspace.created', {
  ...ofWorkspace,
  says: 'A workspace was created',
  data: shown,
})
export const workspaceUpdated = define('workspace.updated', {
  ...ofWorkspace,
  says: 'A workspace changed',
  data: { ...shown, fields: texts },
})
export const workspaceDeleted = define('workspace.deleted', {
  ...ofWorkspace,
  says: 'A workspace was deleted',
  data: shown,
})
export const workspaceShared = define('workspace.shared', {
  ...ofWorkspace,
  says: 'A workspace was shared with another team, or the role of a team in it changed',
  data: { ...shown, teamId: text, role: text },
})
export const workspaceUnshared = define('workspace.unshared', {
  ...ofWorkspace,
  says: 'A team left a workspace or was removed from it',
  data: { ...shown, teamId: text },
})
