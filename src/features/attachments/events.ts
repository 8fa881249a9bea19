import { define, number, text } from '../../events/catalogue.ts'

const ofFile = { kind: 'attachment', scope: 'uploads:read' } as const
const shown = { name: text, size: number, record: text, recordId: text } as const

export const attachmentAdded = define('attachment.added', {
  ...ofFile,
  description: 'A file was put into the text of a record',
  data: shown,
})
export const attachmentRemoved = define('attachment.removed', {
  ...ofFile,
  description: 'A file was deleted from a record',
  data: shown,
})
