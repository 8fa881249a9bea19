import { defineEvent, number, text, texts } from '../../events/catalogue.ts'

const ofNote = { kind: 'note', live: true, line: 'note' } as const
const commonData = { title: text, version: number } as const

export const noteCreated = defineEvent('note.created', {
  ...ofNote,
  description: 'A note was created',
  data: commonData,
})
export const noteUpdated = defineEvent('note.updated', {
  ...ofNote,
  description: 'A note changed',
  data: { ...commonData, fields: texts },
})
export const noteDeleted = defineEvent('note.deleted', {
  ...ofNote,
  deletes: true,
  description: 'A note was deleted',
  data: commonData,
})
export const noteRestored = defineEvent('note.restored', {
  ...ofNote,
  description: 'A note was restored',
  data: commonData,
})
