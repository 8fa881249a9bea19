import { define, number, text } from '../../events/catalogue.ts'

const ofPasskey = { kind: 'passkey', told: 'access' } as const

export const passkeyCreated = define('passkey.created', {
  ...ofPasskey,
  says: 'Somebody added a passkey',
  data: { name: text },
})
export const passkeyUpdated = define('passkey.updated', {
  ...ofPasskey,
  says: 'A passkey has another name',
  data: { name: text },
})
export const passkeyDeleted = define('passkey.deleted', {
  ...ofPasskey,
  says: 'A passkey was removed',
  data: { name: text },
})
export const passkeyRefused = define('passkey.refused', {
  ...ofPasskey,
  says: 'A passkey was refused because its counter went back, as that of a copy does',
  data: { reason: text, counter: number, known: number },
})
