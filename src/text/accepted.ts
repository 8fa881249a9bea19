import type { TSchema } from '@sinclair/typebox'

/** Whether a value has the type of a schema, whatever its content. */
export const isOfType = ({ type }: TSchema, value: unknown): boolean =>
  type === (Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value)

const words: Record<string, string> = {
  string: 'text',
  number: 'a number',
  boolean: 'true or false',
  object: 'an object',
  null: 'null',
}

/** Returns what a schema accepts, in words: `text`, `a list of numbers`, `an object with url (optional: title)`. */
export function accepted(schema: TSchema): string {
  if (schema.anyOf) return (schema.anyOf as TSchema[]).map(accepted).join(' or ')
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (Array.isArray(schema.enum)) return `one of ${schema.enum.join(', ')}`
  if (schema.type === 'array') return `a list, each item ${accepted(schema.items as TSchema)}`
  if (schema.type !== 'object' || !schema.properties) return words[schema.type as string] ?? String(schema.type)
  const required = (schema.required ?? []) as string[]
  const others = Object.keys(schema.properties as object).filter((name) => !required.includes(name))
  const also = others.length > 0 ? `optional: ${others.join(', ')}` : ''
  return `an object with ${required.length > 0 ? `${required.join(', ')}${also && ` (${also})`}` : also}`
}
