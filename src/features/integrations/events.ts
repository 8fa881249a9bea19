import { define, text, texts } from '../../events/catalogue.ts'

const ofIntegration = { kind: 'integration', told: 'access' } as const

export const integrationConnected = define('integration.connected', {
  ...ofIntegration,
  says: 'Somebody connected an outside service',
  data: { provider: text },
})
export const integrationUpdated = define('integration.updated', {
  ...ofIntegration,
  says: 'The settings of an outside service changed',
  data: { provider: text, fields: texts },
})
export const integrationRemoved = define('integration.removed', {
  ...ofIntegration,
  says: 'Somebody disconnected an outside service',
  data: { provider: text },
})
