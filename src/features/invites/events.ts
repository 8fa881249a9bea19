import { defineEvent, text } from '../../events/catalogue.ts'

const ofInvite = { kind: 'invite', feed: 'access', data: { email: text, role: text } } as const

export const inviteCreated = defineEvent('invite.created', {
  ...ofInvite,
  description: 'A person was invited to a team',
  words: (_, { email, role }) => `invited ${email} as ${role}`,
})
export const inviteRenewed = defineEvent('invite.renewed', {
  ...ofInvite,
  description: 'An invite was sent again',
  words: (_, { email }) => `sent the invite for ${email} again`,
})
export const inviteAccepted = defineEvent('invite.accepted', {
  ...ofInvite,
  description: 'An invite was accepted',
  words: (_, { role }) => `accepted an invite as ${role}`,
})
export const inviteDeclined = defineEvent('invite.declined', {
  ...ofInvite,
  description: 'An invite was declined',
  words: () => 'declined an invite',
})
export const inviteWithdrawn = defineEvent('invite.withdrawn', {
  ...ofInvite,
  description: 'An invite was withdrawn',
  words: (_, { email }) => `withdrew the invite for ${email}`,
})
