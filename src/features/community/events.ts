import { defineEvent, flag, text, texts } from '../../events/catalogue.ts'

const ofPost = { kind: 'community_post', feed: 'access' } as const

export const postWritten = defineEvent('community_post.created', {
  ...ofPost,
  description: 'A user posted in the community',
  data: { title: text, status: text },
})
export const postChanged = defineEvent('community_post.updated', {
  ...ofPost,
  description: 'A post of the community was changed by its author, or moderated',
  data: { fields: texts, status: text },
})
export const postRemoved = defineEvent('community_post.deleted', {
  ...ofPost,
  deletes: true,
  description: 'A post of the community was deleted by its author or an administrator',
  data: { title: text },
})
export const postReported = defineEvent('community_post.reported', {
  ...ofPost,
  description: 'A user reported a post of the community; the third report hides it',
  data: { hidden: flag },
})
