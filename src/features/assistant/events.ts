import { defineEvent } from '../../events/catalogue.ts'

/** Only the owner of a chat receives its events. They contain nothing of the conversation. */
const ofChat = { kind: 'chat', feed: 'none' } as const

export const chatCreated = defineEvent('chat.created', {
  ...ofChat,
  description: 'A chat with the assistant was started',
})
export const chatRenamed = defineEvent('chat.renamed', { ...ofChat, description: 'A chat was renamed' })
export const chatDeleted = defineEvent('chat.deleted', {
  ...ofChat,
  deletes: true,
  description: 'A chat was deleted, with its messages',
})
export const chatAsked = defineEvent('chat.asked', { ...ofChat, description: 'A question was asked in a chat' })
export const chatAnswered = defineEvent('chat.answered', { ...ofChat, description: 'The assistant answered in a chat' })
export const chatDecided = defineEvent('chat.decided', {
  ...ofChat,
  description: 'A proposal of the assistant was accepted or declined',
})
