import { defineEvent, number, text } from '../../events/catalogue.ts'

const ofPasskey = { kind: 'passkey', feed: 'access' } as const

export const passkeyCreated = defineEvent('passkey.created', {
  ...ofPasskey,
  description: 'A user added a passkey',
  data: { name: text },
})
export const passkeyUpdated = defineEvent('passkey.updated', {
  ...ofPasskey,
  description: 'A passkey was renamed',
  data: { name: text },
  words: (what) => `renamed ${what}`,
})
export const passkeyDeleted = defineEvent('passkey.deleted', {
  ...ofPasskey,
  deletes: true,
  description: 'A passkey was removed',
  data: { name: text },
})
export const passkeyRefused = defineEvent('passkey.refused', {
  ...ofPasskey,
  description: 'A passkey was refused because its counter decreased, so it may be a copy',
  data: { reason: text, counter: number, known: number },
  words: () => 'used a passkey that may be a copy, which was refused',
})
