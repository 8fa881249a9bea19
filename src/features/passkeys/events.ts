import { define, number, text } from '../../events/catalogue.ts'

const ofPasskey = { kind: 'passkey', feed: 'access' } as const

export const passkeyCreated = define('passkey.created', {
  ...ofPasskey,
  description: 'A user added a passkey',
  data: { name: text },
})
export const passkeyUpdated = define('passkey.updated', {
  ...ofPasskey,
  description: 'A passkey was renamed',
  data: { name: text },
})
export const passkeyDeleted = define('passkey.deleted', {
  ...ofPasskey,
  deletes: true,
  description: 'A passkey was removed',
  data: { name: text },
})
export const passkeyRefused = define('passkey.refused', {
  ...ofPasskey,
  description: 'A passkey was refused because its counter decreased, so it may be a copy',
  data: { reason: text, counter: number, known: number },
})
