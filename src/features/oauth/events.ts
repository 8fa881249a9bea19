import { defineEvent, text } from '../../events/catalogue.ts'

const ofAccount = { kind: 'connected_account', feed: 'access', data: { provider: text } } as const

export const connectedAccountCreated = defineEvent('connected_account.created', {
  ...ofAccount,
  description: 'A user connected an identity of a sign-in provider',
  words: (_, { provider }) => `connected a sign-in with ${provider}`,
})
export const connectedAccountDeleted = defineEvent('connected_account.deleted', {
  ...ofAccount,
  deletes: true,
  description: 'A user disconnected an identity of a sign-in provider',
  words: (_, { provider }) => `disconnected the sign-in with ${provider}`,
})
