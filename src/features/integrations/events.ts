import { defineEvent, text, texts } from '../../events/catalogue.ts'

const ofIntegration = { kind: 'integration', feed: 'access' } as const

export const integrationConnected = defineEvent('integration.connected', {
  ...ofIntegration,
  description: 'A user connected an external service',
  data: { provider: text },
  words: (_, { provider }) => `connected ${provider}`,
})
export const integrationUpdated = defineEvent('integration.updated', {
  ...ofIntegration,
  description: 'The settings of a connected service changed',
  data: { provider: text, fields: texts },
  words: (_, { provider }) => `changed the settings of ${provider}`,
})
export const integrationRemoved = defineEvent('integration.removed', {
  ...ofIntegration,
  description: 'A user disconnected an external service',
  data: { provider: text },
  words: (_, { provider }) => `disconnected ${provider}`,
})
