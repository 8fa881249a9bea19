import { Type } from '@sinclair/typebox'
import { email, id, int, jsonObject, nullable, object, oneOf, optional, type Static, text } from '../../schema.ts'
import { projectFilter, teamFilter } from '../projects/schema.ts'

export const ExportQuery = object({
  project: projectFilter,
  organizationId: teamFilter,
  format: optional(
    oneOf(['json', 'ndjson'], {
      description: 'json: one array; ndjson: one JSON value on each line. Default: what Accept names, else json',
    }),
  ),
})
export type ExportQuery = Static<typeof ExportQuery>
export const ExportFile = Type.Unsafe<Response>(
  Type.Array(jsonObject(), {
    description: 'Records, each after the one it belongs to; the last entry contains the count and the SHA-256',
  }),
)

const MOST_RECORDS = 200
const Person = object({ id: id(), email: email() })
const Line = object({ entity: text(40, { minLength: 1, example: 'note' }), record: jsonObject() })
export type Line = Static<typeof Line>
export const ImportBatch = object({
  people: Type.Array(Person, {
    maxItems: 2000,
    description: 'People in the export; those with an account on this server are named',
  }),
  records: Type.Array(Line, { minItems: 1, maxItems: MOST_RECORDS, description: 'Lines of an export, in its order' }),
})
export type ImportBatch = Static<typeof ImportBatch>

export const ImportResult = object({
  created: int({ example: 120 }),
  updated: int({ example: 3 }),
  unchanged: int({ example: 40 }),
  conflicts: Type.Array(
    object({
      entity: text(40, { example: 'note' }),
      id: text(80, { example: '019a8a7e-5c1f-7d3a-9b52-0c7f6f1f2a10' }),
      title: nullable(text(500, { example: 'Release notes', description: 'Its title or name on this server' })),
      fields: Type.Array(text(60, { example: 'title' })),
    }),
    { description: 'Changed on both servers since the last import; the values of this server were kept' },
  ),
})
export type ImportResult = Static<typeof ImportResult>
