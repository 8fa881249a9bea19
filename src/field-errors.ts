import { Kind, type TSchema } from '@sinclair/typebox'
import { type ValueError, ValueErrorType } from '@sinclair/typebox/errors'
import { Value } from '@sinclair/typebox/value'
import type { FieldError } from './errors.ts'
import { ALLOWED, type AllowedSchema, LISTED, UNIQUE, withoutUnique } from './schema.ts'

/** Errors of validation as people read them. */

/** Returns at most 20 errors, one per field, with messages that say what to send instead. */
export function fieldErrors(errors: Iterable<ValueError>): FieldError[] {
  const seen = new Map<string, FieldError>()
  for (const found of errors) {
    const error = precise(found)
    if (seen.has(error.path)) continue
    seen.set(error.path, explain(error))
    // The next checks of a huge value are its pattern, or whether its items are unique: both would take long.
    if (seen.size === 20 || isHuge(error)) break
  }
  return [...seen.values()]
}

/** For a list whose items must differ, returns the error of the list or of an item, if there is another one. */
function precise(error: ValueError): ValueError {
  const inner = error.schema[Kind] === UNIQUE && Value.Errors(withoutUnique(error.schema), error.value).First()
  return inner ? { ...inner, path: error.path + inner.path } : error
}

const isHuge = ({ type, value }: ValueError): boolean =>
  (type === ValueErrorType.StringMaxLength || type === ValueErrorType.ArrayMaxItems) && lengthOf(value) > 10_000

const lengthOf = (value: unknown): number => (value as string | unknown[]).length

const named: Record<string, string> = {
  'date-or-time': 'date or time',
  'time-or-offset': 'date, time or offset',
}

function explain({ path, type, schema, value, message, errors }: ValueError): FieldError {
  // The name of an unknown field comes from the caller and may be as long as the body.
  const pointer = path.length > 200 ? `${path.slice(0, 200)}…` : path
  const name = pointer.slice(1).replaceAll('/', '.') || 'the input'
  const tell = (code: string, text: string): FieldError => ({ pointer, code, message: text })
  switch (type) {
    case ValueErrorType.ObjectRequiredProperty:
      return tell('required', `${name} is required.`)
    case ValueErrorType.ObjectAdditionalProperties:
      return tell('unknown_field', `${name} is not a known field.`)
    case ValueErrorType.StringMaxLength:
      return tell('too_long', `${name} has ${lengthOf(value)} characters; send at most ${schema.maxLength}.`)
    case ValueErrorType.StringMinLength:
      return tell('too_short', `${name} needs at least ${schema.minLength} character(s).`)
    case ValueErrorType.StringPattern:
      return tell(
        'format',
        schema.pattern === '\\S' ? `${name} is empty.` : `${name} does not match ${schema.pattern}.`,
      )
    case ValueErrorType.StringFormat:
      return tell(
        'format',
        `${name} is not a valid ${named[schema.format as string] ?? schema.format}${schema.examples ? `, such as ${schema.examples[0]}` : ''}.`,
      )
    case ValueErrorType.NumberMinimum:
      return tell('range', `${name} must be at least ${schema.minimum}.`)
    case ValueErrorType.NumberMaximum:
      return tell('range', `${name} must be at most ${schema.maximum}.`)
    case ValueErrorType.NumberMultipleOf:
      return tell('type', `${name} must be a whole number.`)
    case ValueErrorType.Union: {
      // Explains the error of the only option that the value can be: for a nullable field, that of its other type.
      const options = (schema.anyOf as TSchema[]).map((option, i) => ({ option, errors: errors[i] }))
      const others = options.filter(({ option }) => option.type !== 'null')
      const meant = others.length === 1 ? others : others.filter(({ option }) => isOfType(option, value))
      const first = meant.length === 1 && meant[0]?.option.const === undefined ? meant[0]?.errors?.First() : undefined
      return first
        ? explain(precise(first))
        : tell('type', `${name} must be ${options.map(({ option }) => describeAccepted(option)).join(', or ')}.`)
    }
    case ValueErrorType.ArrayMaxItems:
      return tell('too_many', `${name} has ${lengthOf(value)} items; send at most ${schema.maxItems}.`)
    case ValueErrorType.Kind:
      return explainKind(name, schema, message, tell)
    default:
      return tell('type', schema.type ? `${name} must be of type ${schema.type}.` : `${name}: ${message}.`)
  }
}

/** Explains an error of one of our own types. */
function explainKind(
  name: string,
  schema: TSchema,
  message: string,
  tell: (code: string, text: string) => FieldError,
): FieldError {
  if (schema[Kind] === UNIQUE) return tell('type', `${name} contains an item twice.`)
  if (schema[Kind] === LISTED)
    return tell(
      'enum',
      `${name} must be one of: ${(schema as AllowedSchema)[ALLOWED].join(', ')}. Separate several with commas.`,
    )
  return tell(
    'enum',
    Array.isArray(schema.enum) ? `${name} must be one of: ${schema.enum.join(', ')}.` : `${name}: ${message}.`,
  )
}

/** Whether a value has the type of a schema, whatever its content. */
const isOfType = ({ type }: TSchema, value: unknown): boolean =>
  type === (Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value)

const words: Record<string, string> = {
  string: 'text',
  number: 'a number',
  boolean: 'true or false',
  object: 'an object',
  null: 'null',
}

/** Returns what a schema accepts, in words: `text`, `a list of numbers`, `an object with url (optional: title)`. */
function describeAccepted(schema: TSchema): string {
  if (schema.anyOf) return (schema.anyOf as TSchema[]).map(describeAccepted).join(' or ')
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (Array.isArray(schema.enum)) return `one of ${schema.enum.join(', ')}`
  if (schema.type === 'array') return `a list, each item ${describeAccepted(schema.items as TSchema)}`
  if (schema.type !== 'object' || !schema.properties) return words[schema.type as string] ?? String(schema.type)
  const required = (schema.required ?? []) as string[]
  const others = Object.keys(schema.properties as object).filter((name) => !required.includes(name))
  const also = others.length > 0 ? `optional: ${others.join(', ')}` : ''
  return `an object with ${required.length > 0 ? `${required.join(', ')}${also && ` (${also})`}` : also}`
}
