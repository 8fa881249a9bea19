import { defineEvent, text, texts } from '../../events/catalogue.ts'

const ofSponsor = { kind: 'sponsor', feed: 'access' } as const

export const sponsorCreated = defineEvent('sponsor.created', {
  ...ofSponsor,
  description: 'A sponsor was added',
  data: { name: text },
})
export const sponsorUpdated = defineEvent('sponsor.updated', {
  ...ofSponsor,
  description: 'A sponsor was changed',
  data: { name: text, fields: texts },
})
export const sponsorDeleted = defineEvent('sponsor.deleted', {
  ...ofSponsor,
  deletes: true,
  description: 'A sponsor was deleted',
  data: { name: text },
})
