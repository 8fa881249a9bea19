import type { FieldError } from '../errors.ts'
import type { TObject, TSchema } from '../schema.ts'

type Fields = Record<string, unknown>

/**
 * THE ARGUMENTS THAT HAVE OTHER NAMES TOO: earlier names, and those of the web API. They work in every tool that takes
 * the argument, but no list of tools shows them.
 */
export const formerNames: Readonly<Record<string, readonly string[]>> = {
  project: ['projectId'],
  task: ['taskId'],
  agent: ['agentId'],
  session: ['sessionId'],
  story: ['storyId'],
  query: ['search'],
  tags: ['tag', 'labels', 'label'],
  comment: ['comments'],
}

/** Returns the argument that the name means: the one of that name, else the one that has it as another name. */
export function currentName({ properties }: TObject, name: string): string {
  if (Object.hasOwn(properties, name)) return name
  return Object.keys(properties).find((current) => formerNames[current]?.includes(name)) ?? name
}

/**
 * Returns the arguments by their current names, here and in nested objects. An argument that is given by two names is
 * an error. `tag: 'ops'` is `tags: ['ops']`.
 */
export function renameFormerArguments(schema: TObject, args: Fields, at = ''): { args: Fields; errors: FieldError[] } {
  const errors: FieldError[] = []
  const earlier = new Map<string, string>()
  const out = Object.entries(args).map(([given, value]) => {
    const name = currentName(schema, given)
    const field = Object.hasOwn(schema.properties, name) ? (schema.properties[name] as TSchema) : undefined
    const other = given !== name
    const also = Object.hasOwn(args, name) ? name : earlier.get(name)
    if (other && also !== undefined) errors.push(duplicateError(at, [given, also], name))
    earlier.set(name, given)
    const single = other && field?.type === 'array' && typeof value === 'string' && !isList(value)
    return [name, field ? renameNested(field, single ? [value] : value, `${at}/${name}`, errors) : value]
  })
  return { args: Object.fromEntries(out), errors }
}

const duplicateError = (at: string, [given, also]: [string, string], name: string): FieldError => ({
  pointer: `${at}/${given}`,
  code: 'twice',
  message: `${given} and ${also} are the same argument. Send only ${name}.`,
})

const isList = (text: string): boolean => /^\s*\[/.test(text)

function renameNested(schema: TSchema, value: unknown, at: string, errors: FieldError[]): unknown {
  if (Array.isArray(value) && schema.items) {
    const items = schema.items as TSchema
    return value.map((item, i) => renameNested(items, item, `${at}/${i}`, errors))
  }
  if (typeof value !== 'object' || value === null) return value
  const options = (schema.anyOf as TSchema[] | undefined) ?? [schema]
  const object = options.find((option) => option.type === 'object' && option.properties) as TObject | undefined
  if (!object) return value
  const found = renameFormerArguments(object, value as Fields, at)
  errors.push(...found.errors)
  return found.args
}
