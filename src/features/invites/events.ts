import { defineEvent, text } from '../../events/catalogue.ts'

const ofInvite = { kind: 'invite', feed: 'access', data: { email: text, role: text } } as const

export const inviteCreated = defineEvent('invite.created', {
  ...ofInvite,
  description: 'A person was invited to a team',
})
export const inviteRenewed = defineEvent('invite.renewed', { ...ofInvite, description: 'An invite was sent again' })
export const inviteAccepted = defineEvent('invite.accepted', { ...ofInvite, description: 'An invite was accepted' })
export const inviteDeclined = defineEvent('invite.declined', { ...ofInvite, description: 'An invite was declined' })
export const inviteWithdrawn = defineEvent('invite.withdrawn', { ...ofInvite, description: 'An invite was withdrawn' })
