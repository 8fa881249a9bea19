import { defineEvent, number, text } from '../../events/catalogue.ts'

export const trackerSynced = defineEvent('tracker.synced', {
  kind: 'tracker',
  feed: 'access',
  description: 'The issues of a repository at the code host were mirrored',
  data: { repo: text, added: number, changed: number },
  words: (_, { repo, added, changed }) => `mirrored ${repo}: ${added} new, ${changed} changed`,
})
