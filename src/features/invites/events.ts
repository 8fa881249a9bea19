import { define, text } from '../../events/catalogue.ts'

const ofInvite = { kind: 'invite', told: 'access', data: { email: text, role: text } } as const

export const inviteCreated = define('invite.created', { ...ofInvite, says: 'A person was invited to a team' })
export const inviteRenewed = define('invite.renewed', { ...ofInvite, says: 'An invite was sent again' })
export const inviteAccepted = define('invite.accepted', { ...ofInvite, says: 'An invite was accepted' })
export const inviteDeclined = define('invite.declined', { ...ofInvite, says: 'An invite was declined' })
export const inviteWithdrawn = define('invite.withdrawn', { ...ofInvite, says: 'An invite was withdrawn' })
