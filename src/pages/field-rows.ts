import { Kind, OptionalKind } from '@sinclair/typebox'
import type { TSchema } from '../schema.ts'

/** A schema as rows that people read: `steps[].done`, `true or false`, what it means. */
interface FieldRow {
  name: string
  type: string
  required: boolean
  about: string
}

const DEEPEST = 3

export function fieldRows(schema: TSchema, prefix = '', depth = 0): FieldRow[] {
  const { schema: inner } = withoutNull(schema)
  if (inner.type === 'array') return fieldRows(inner.items as TSchema, `${prefix}[]`, depth)
  const properties = Object.entries((inner.properties ?? {}) as Record<string, TSchema>)
  return properties.flatMap(([key, field]) => {
    const name = prefix ? `${prefix}.${key}` : key
    const row = { name, type: typeOf(field), required: !field[OptionalKind] && depth === 0, about: aboutOf(field) }
    return [row, ...(depth + 1 < DEEPEST ? fieldRows(field, name, depth + 1) : [])]
  })
}

/** Returns the schema without its alternative `null`, and whether there was one. */
function withoutNull(schema: TSchema): { schema: TSchema; nullable: boolean } {
  const options = (schema.anyOf ?? []) as TSchema[]
  const rest = options.filter(({ type }) => type !== 'null')
  return rest.length === 1 && rest.length < options.length
    ? { schema: rest[0] as TSchema, nullable: true }
    : { schema, nullable: false }
}

const formats: Record<string, string> = {
  uuid: 'id',
  'date-time': 'time',
  'date-or-time': 'date or time',
  'time-or-offset': 'date, time or offset',
  email: 'e-mail address',
  url: 'address',
}

function typeOf(field: TSchema): string {
  const { schema, nullable } = withoutNull(field)
  return `${plainType(schema)}${nullable ? ' or null' : ''}`
}

function plainType(schema: TSchema): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema[Kind] === 'Binary') return 'file'
  if (Array.isArray(schema.enum)) return schema.enum.join(', ')
  if (Array.isArray(schema.anyOf)) return [...new Set((schema.anyOf as TSchema[]).map(plainType))].join(' or ')
  switch (schema.type) {
    case 'array':
      return `list of ${plainType(schema.items as TSchema)}`
    case 'string':
      return formats[schema.format as string] ?? 'text'
    case 'number':
      return schema.multipleOf === 1 ? 'whole number' : 'number'
    case 'boolean':
      return 'true or false'
    case 'object':
      return schema.properties ? 'object' : 'any fields'
    default:
      return 'anything'
  }
}

/** The highest limit worth naming: larger ones only say that it fits into the database. */
const LARGEST = 2_147_483_647

function aboutOf(field: TSchema): string {
  const { schema } = withoutNull(field)
  const { minimum, maximum, maxLength, maxItems } = schema as Record<string, number | undefined>
  const range = maximum !== undefined && maximum < LARGEST ? `${minimum ?? 0} to ${maximum}` : undefined
  return [
    field.description ?? schema.description,
    range,
    schema.format === undefined && maxLength !== undefined ? `at most ${maxLength} characters` : undefined,
    maxItems !== undefined ? `at most ${maxItems}` : undefined,
  ]
    .filter(Boolean)
    .join('; ')
}
