import { define, text } from '../../events/catalogue.ts'

const ofInvite = { kind: 'invite', feed: 'access', data: { email: text, role: text } } as const

export const inviteCreated = define('invite.created', { ...ofInvite, description: 'A person was invited to a team' })
export const inviteRenewed = define('invite.renewed', { ...ofInvite, description: 'An invite was sent again' })
export const inviteAccepted = define('invite.accepted', { ...ofInvite, description: 'An invite was accepted' })
export const inviteDeclined = define('invite.declined', { ...ofInvite, description: 'An invite was declined' })
export const inviteWithdrawn = define('invite.withdrawn', { ...ofInvite, description: 'An invite was withdrawn' })
