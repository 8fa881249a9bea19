import { define, flag, number, text, texts } from '../../events/catalogue.ts'
import { object } from '../../schema.ts'

const ofAgent = { kind: 'agent', live: true } as const
const shown = { name: text, version: number } as const

export const agentCreated = define('agent.created', { ...ofAgent, description: 'An agent was created', data: shown })
export const agentUpdated = define('agent.updated', {
  ...ofAgent,
  description: 'An agent changed',
  data: { ...shown, fields: texts },
})
export const agentDeleted = define('agent.deleted', {
  ...ofAgent,
  deletes: true,
  description: 'An agent was deleted; `memories` says how many memories it had and whether they were kept',
  data: { ...shown, memories: object({ count: number, kept: flag }) },
})
export const agentRestored = define('agent.restored', { ...ofAgent, description: 'An agent was restored', data: shown })
