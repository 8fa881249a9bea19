import { defineEvent, text, texts } from '../../events/catalogue.ts'
import { nullable, optional } from '../../schema.ts'

const ofGrant = { kind: 'grant', feed: 'access', changes: 'rights' } as const

export const grantCreated = defineEvent('grant.created', {
  ...ofGrant,
  description: 'A user authorized a program',
  data: { client: text, scopes: texts, projects: optional(nullable(texts)) },
  words: (_, { client }) => `gave ${client} access`,
})
export const grantRevoked = defineEvent('grant.revoked', {
  ...ofGrant,
  description: 'The access of a program ended',
  data: { client: text, reason: text },
  words: (_, { client }) => `ended the access of ${client}`,
})
export const oauthClientAdded = defineEvent('oauth_client.added', {
  kind: 'oauth_client',
  feed: 'access',
  description: 'An administrator added a program that may ask users to authorize it',
  data: { name: text },
  words: (_, { name }) => `added the program ${name}`,
})
export const oauthClientRemoved = defineEvent('oauth_client.removed', {
  kind: 'oauth_client',
  feed: 'access',
  description: 'An administrator removed a program and ended all its access',
  data: { name: text },
  words: (_, { name }) => `removed the program ${name}`,
})
