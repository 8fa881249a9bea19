import { define, text } from '../../events/catalogue.ts'

const ofAccount = { kind: 'connected_account', told: 'access', data: { provider: text } } as const

export const connectedAccountCreated = define('connected_account.created', {
  ...ofAccount,
  says: 'An account at a sign-in provider was connected',
})
export const connectedAccountDeleted = define('connected_account.deleted', {
  ...ofAccount,
  says: 'An account at a sign-in provider was disconnected',
})
