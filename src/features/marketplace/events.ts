import { defineEvent, flag, text } from '../../events/catalogue.ts'

const ofItem = { kind: 'marketplace_item', feed: 'access' } as const

export const itemModerated = defineEvent('marketplace_item.moderated', {
  ...ofItem,
  description: 'An administrator hid a public skill or agent, or showed it again',
  data: { kind: text, name: text, hidden: flag },
  words: (_, { kind, name, hidden }) => `${hidden ? 'hid' : 'showed'} the public ${kind} ${name}`,
})
export const itemReported = defineEvent('marketplace_item.reported', {
  ...ofItem,
  description: 'A user reported a public skill or agent',
  data: { kind: text },
  words: (_, { kind }) => `reported a public ${kind}`,
})
