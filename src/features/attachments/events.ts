import { defineEvent, number, text } from '../../events/catalogue.ts'

const ofFile = { kind: 'attachment', scope: 'uploads:read' } as const
/** `noun` is the kind of the record: only users who may read that kind receive the event. */
const commonData = { name: text, size: number, noun: text, record: text, recordId: text } as const

export const attachmentAdded = defineEvent('attachment.added', {
  ...ofFile,
  description: 'A file was added to a record',
  data: commonData,
  words: (_, { name, record }) => `added ${name} to a ${record}`,
})
export const attachmentRemoved = defineEvent('attachment.removed', {
  ...ofFile,
  description: 'A file was deleted from a record',
  data: commonData,
  words: (_, { name, record }) => `deleted ${name} from a ${record}`,
})
