/** Fields of a form for the parameters of an action. Its schema comes from the machine, so nothing in it is trusted. */
interface Schema {
  type?: unknown
  const?: unknown
  enum?: unknown
  properties?: unknown
  required?: unknown
  description?: unknown
  writeOnly?: unknown
  maxLength?: unknown
  minimum?: unknown
  maximum?: unknown
}

export interface ActionField {
  /** The path of the value in the parameters: `params.branch`. */
  name: string
  label: string
  kind: 'text' | 'secret' | 'number' | 'flag' | 'choice' | 'json'
  values: string[]
  isRequired: boolean
  description?: string
  maxLength?: number
  minimum?: number
  maximum?: number
}

const objectOf = (value: unknown): Record<string, Schema> =>
  typeof value === 'object' && value !== null ? (value as Record<string, Schema>) : {}
const listOf = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : [])
const numberOf = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined)

/** Fields that must be filled in come first: the order of the schema is not kept everywhere. */
export const actionFields = (schema: Schema): ActionField[] =>
  fieldsIn(schema, '').toSorted((a, b) => Number(b.isRequired) - Number(a.isRequired))

function fieldsIn(schema: Schema, path: string): ActionField[] {
  const required = new Set(listOf(schema.required))
  return Object.entries(objectOf(schema.properties)).flatMap(([key, each]) => {
    const name = path === '' ? key : `${path}.${key}`
    if (each.const !== undefined) return []
    if (each.type === 'object' && each.properties !== undefined) return fieldsIn(each, name)
    return [fieldOf(name, key, each, required.has(key))]
  })
}

function fieldOf(name: string, label: string, each: Schema, isRequired: boolean): ActionField {
  const description = typeof each.description === 'string' ? each.description : undefined
  const [maxLength, minimum, maximum] = [each.maxLength, each.minimum, each.maximum].map(numberOf)
  const about = { name, label, values: listOf(each.enum), isRequired, description, maxLength, minimum, maximum }
  return { ...about, kind: kindOf(each) }
}

function kindOf({ type, enum: values, writeOnly }: Schema): ActionField['kind'] {
  if (Array.isArray(values)) return 'choice'
  if (type === 'integer' || type === 'number') return 'number'
  if (type === 'boolean') return 'flag'
  if (type === 'object' || type === 'array') return 'json'
  return writeOnly === true ? 'secret' : 'text'
}

type Params = Record<string, unknown>

/** Returns the parameters that the form holds; undefined if a field does not hold the JSON that it should. */
export function readParams(schema: Schema, fields: readonly ActionField[], form: FormData): Params | undefined {
  const params: Params = {}
  for (const [key, { const: fixed }] of Object.entries(objectOf(schema.properties)))
    if (fixed !== undefined) params[key] = fixed
  for (const field of fields) {
    const value = valueIn(field, String(form.get(field.name) ?? ''))
    if (value === notJson) return undefined
    if (value !== undefined) put(params, field.name.split('.'), value)
  }
  return params
}

const notJson = Symbol('not JSON')

function valueIn({ kind, isRequired }: ActionField, text: string): unknown {
  if (kind === 'flag') return text === 'on'
  if (text === '' && !isRequired) return undefined
  if (kind === 'number') return Number(text)
  if (kind !== 'json') return text
  try {
    return JSON.parse(text) as unknown
  } catch {
    return notJson
  }
}

function put(params: Params, [key = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) {
    params[key] = value
    return
  }
  const inner = (params[key] ?? {}) as Params
  params[key] = inner
  put(inner, rest, value)
}
