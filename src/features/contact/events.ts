import { defineEvent, flag, texts } from '../../events/catalogue.ts'

const ofMessage = { kind: 'contact_message', feed: 'access' } as const

export const messageReceived = defineEvent('contact_message.received', {
  ...ofMessage,
  description: 'A visitor sent a message with the contact form',
  data: { spam: flag },
  words: () => 'sent a message with the contact form',
})
export const messageUpdated = defineEvent('contact_message.updated', {
  ...ofMessage,
  description: 'An administrator marked a message of a visitor as read or as spam',
  data: { fields: texts },
  words: () => 'sorted a message of a visitor',
})
export const messageDeleted = defineEvent('contact_message.deleted', {
  ...ofMessage,
  deletes: true,
  description: 'An administrator deleted a message of a visitor',
  words: () => 'deleted a message of a visitor',
})
