import { define, text, texts } from '../../events/catalogue.ts'

const ofIntegration = { kind: 'integration', feed: 'access' } as const

export const integrationConnected = define('integration.connected', {
  ...ofIntegration,
  description: 'A user connected an external service',
  data: { provider: text },
})
export const integrationUpdated = define('integration.updated', {
  ...ofIntegration,
  description: 'The settings of a connected service changed',
  data: { provider: text, fields: texts },
})
export const integrationRemoved = define('integration.removed', {
  ...ofIntegration,
  description: 'A user disconnected an external service',
  data: { provider: text },
})
