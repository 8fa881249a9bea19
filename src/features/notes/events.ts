import { define, number, text, texts } from '../../events/catalogue.ts'

const ofNote = { kind: 'note', live: true, line: 'note' } as const
const shown = { title: text, version: number } as const

export const noteCreated = define('note.created', { ...ofNote, description: 'A note was created', data: shown })
export const noteUpdated = define('note.updated', {
  ...ofNote,
  description: 'A note changed',
  data: { ...shown, fields: texts },
})
export const noteDeleted = define('note.deleted', {
  ...ofNote,
  deletes: true,
  description: 'A note was deleted',
  data: shown,
})
export const noteRestored = define('note.restored', { ...ofNote, description: 'A note was restored', data: shown })
