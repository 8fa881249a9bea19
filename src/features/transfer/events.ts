import { Type } from '@sinclair/typebox'
import { defineEvent, number } from '../../events/catalogue.ts'

export const recordsImported = defineEvent('project.imported', {
  kind: 'project',
  live: true,
  many: true,
  description: 'Records of another instance were imported',
  data: { changed: Type.Record(Type.String(), Type.Array(Type.String())), count: number },
  words: (_, { count }) => `imported ${count} records of another instance`,
})
