import { defineEvent, text } from '../../events/catalogue.ts'
import { withArticle } from '../../events/words.ts'

/** The subject is the record at the first end; `noun` is its kind and `title` names it. */
const ofLink = {
  kind: 'link',
  scope: 'links:read',
  data: { linkId: text, kind: text, noun: text, title: text, other: text },
} as const

export const linkCreated = defineEvent('link.created', {
  ...ofLink,
  description: 'Two records were linked',
  words: (what, { other }) => `linked ${what} to ${withArticle(String(other))}`,
})
export const linkDeleted = defineEvent('link.deleted', {
  ...ofLink,
  deletes: true,
  description: 'A link between two records was removed',
  words: (what, { other }) => `unlinked ${what} from ${withArticle(String(other))}`,
})
