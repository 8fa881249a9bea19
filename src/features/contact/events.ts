import { define, flag, texts } from '../../events/catalogue.ts'

const ofMessage = { kind: 'contact_message', feed: 'access' } as const

export const messageReceived = define('contact_message.received', {
  ...ofMessage,
  description: 'A visitor sent a message by the form of the site',
  data: { spam: flag },
})
export const messageUpdated = define('contact_message.updated', {
  ...ofMessage,
  description: 'An administrator read a message of a visitor, or decided whether it is spam',
  data: { fields: texts },
})
export const messageDeleted = define('contact_message.deleted', {
  ...ofMessage,
  deletes: true,
  description: 'An administrator deleted a message of a visitor',
})
