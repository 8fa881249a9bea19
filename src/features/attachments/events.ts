import { define, number, text } from '../../events/catalogue.ts'

const ofFile = { kind: 'attachment', scope: 'uploads:read' } as const
/** `noun` is the kind of the record: only users who may read that kind receive the event. */
const shown = { name: text, size: number, noun: text, record: text, recordId: text } as const

export const attachmentAdded = define('attachment.added', {
  ...ofFile,
  description: 'A file was added to a record',
  data: shown,
  words: (_, { name, record }) => `added ${name} to a ${record}`,
})
export const attachmentRemoved = define('attachment.removed', {
  ...ofFile,
  description: 'A file was deleted from a record',
  data: shown,
  words: (_, { name, record }) => `deleted ${name} from a ${record}`,
})
