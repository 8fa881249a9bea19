import { define, text, texts } from '../../events/catalogue.ts'

const ofIntegration = { kind: 'integration', told: 'access' } as const

export const integrationConnected = define('integration.connected', {
  ...ofIntegration,
  says: 'A user connected an external service',
  data: { provider: text },
})
export const integrationUpdated = define('integration.updated', {
  ...ofIntegration,
  says: 'The settings of a connected service changed',
  data: { provider: text, fields: texts },
})
export const integrationRemoved = define('integration.removed', {
  ...ofIntegration,
  says: 'A user disconnected an external service',
  data: { provider: text },
})
