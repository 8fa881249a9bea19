import { define } from '../../events/catalogue.ts'

/** Only the owner of a chat receives its events. They contain nothing of the conversation. */
const ofChat = { kind: 'chat', feed: 'none' } as const

export const chatCreated = define('chat.created', { ...ofChat, description: 'A chat with the assistant was started' })
export const chatRenamed = define('chat.renamed', { ...ofChat, description: 'A chat was renamed' })
export const chatDeleted = define('chat.deleted', {
  ...ofChat,
  deletes: true,
  description: 'A chat was deleted, with its messages',
})
export const chatAsked = define('chat.asked', { ...ofChat, description: 'A question was asked in a chat' })
export const chatAnswered = define('chat.answered', { ...ofChat, description: 'The assistant answered in a chat' })
export const chatDecided = define('chat.decided', {
  ...ofChat,
  description: 'A proposal of the assistant was accepted or declined',
})
