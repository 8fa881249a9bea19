import { define, number, text, texts } from '../../events/catalogue.ts'
import { count as counted } from '../../events/words.ts'
import { nullable } from '../../schema.ts'

const ofMemory = { kind: 'memory', live: true, line: 'note' } as const
const shown = { title: nullable(text), scope: text, scopeId: text, version: number } as const

export const memoryStored = define('memory.stored', { ...ofMemory, description: 'A memory was stored', data: shown })
export const memoryUpdated = define('memory.updated', {
  ...ofMemory,
  description: 'A memory changed',
  data: { ...shown, fields: texts },
})
export const memoryDeleted = define('memory.deleted', {
  ...ofMemory,
  deletes: true,
  description: 'A memory was deleted',
  data: shown,
})
export const memoryCleared = define('memory.cleared', {
  ...ofMemory,
  description: 'All memories of a scope were deleted',
  data: { scope: text, count: number },
  words: (_, { scope, count }) => `cleared ${counted(count, 'memory', 'memories')} of the ${scope}`,
})
