import { defineEvent, flag, number, text, texts } from '../../events/catalogue.ts'
import { object } from '../../schema.ts'

const ofAgent = { kind: 'agent', live: true } as const
const commonData = { name: text, version: number } as const

export const agentCreated = defineEvent('agent.created', {
  ...ofAgent,
  description: 'An agent was created',
  data: commonData,
})
export const agentUpdated = defineEvent('agent.updated', {
  ...ofAgent,
  description: 'An agent changed',
  data: { ...commonData, fields: texts },
})
export const agentDeleted = defineEvent('agent.deleted', {
  ...ofAgent,
  deletes: true,
  description: 'An agent was deleted; `memories` says how many memories it had and whether they were kept',
  data: { ...commonData, memories: object({ count: number, kept: flag }) },
})
export const agentRestored = defineEvent('agent.restored', {
  ...ofAgent,
  description: 'An agent was restored',
  data: commonData,
})
