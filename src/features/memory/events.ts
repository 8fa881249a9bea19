import { defineEvent, number, text, texts } from '../../events/catalogue.ts'
import { countOf as counted } from '../../events/words.ts'
import { nullable } from '../../schema.ts'

const ofMemory = { kind: 'memory', live: true, line: 'note' } as const
const commonData = { title: nullable(text), scope: text, scopeId: text, version: number } as const

export const memoryStored = defineEvent('memory.stored', {
  ...ofMemory,
  description: 'A memory was stored',
  data: commonData,
})
export const memoryUpdated = defineEvent('memory.updated', {
  ...ofMemory,
  description: 'A memory changed',
  data: { ...commonData, fields: texts },
})
export const memoryDeleted = defineEvent('memory.deleted', {
  ...ofMemory,
  deletes: true,
  description: 'A memory was deleted',
  data: commonData,
})
export const memoryCleared = defineEvent('memory.cleared', {
  ...ofMemory,
  description: 'All memories of a scope were deleted',
  data: { scope: text, count: number },
  words: (_, { scope, count }) => `cleared ${counted(count, 'memory', 'memories')} of the ${scope}`,
})
