import type { FieldError } from '../../errors.ts'
import type { TSchema } from '../../schema.ts'
import { editDistance, isSimilar } from '../../text/similarity.ts'
import type { Tool } from '../tool.ts'

/** Words that callers use for an argument, where no letter of its name tells. */
const meanings = new Map<string, readonly string[]>(
  Object.entries({
    name: ['title'],
    title: ['name'],
    body: ['content', 'description', 'comment'],
    text: ['content', 'description', 'comment', 'query'],
    note: ['notes', 'comment'],
    message: ['comment', 'notes'],
    owner: ['assignee'],
    dependencies: ['blockedBy'],
    dependson: ['blockedBy'],
    deadline: ['dueAt'],
    state: ['status'],
    keywords: ['query'],
    words: ['query'],
    search: ['query'],
    term: ['query'],
    q: ['query'],
    count: ['limit'],
    page: ['cursor'],
    offset: ['cursor'],
  }),
)

const lettersOf = (name: string): string => name.replace(/[^a-z]/gi, '').toLowerCase()

/** Returns the errors about arguments. One about an unknown argument names the right argument or tool. */
export function explainErrors(errors: readonly FieldError[], tool: Tool, usable: readonly Tool[]): FieldError[] {
  let isListed = false
  return errors.map((error) => {
    if (error.code !== 'unknown_field') return error
    const path = error.pointer.slice(1).split('/')
    const name = path.at(-1) as string
    if (path.length > 1) return { ...error, message: unknownInside(path, name, tool) }
    const { derived = {} } = tool
    const origin = Object.hasOwn(derived, name) ? derived[name] : undefined
    if (origin) return { ...error, message: `${name} is derived from ${origin}, so leave it out.` }
    const meant = nearest(name, listedIn(tool))
    if (meant) return { ...error, message: `${name} is not an argument of ${tool.name}. Did you mean ${meant}?` }
    // All arguments are listed once, however many are unknown.
    if (isListed) return { ...error, message: `${name} is not an argument.` }
    isListed = true
    return { ...error, message: unknown(name, tool, usable) }
  })
}

function unknown(name: string, tool: Tool, usable: readonly Tool[]): string {
  const own = listedIn(tool)
  const others = usable.filter((other) => other.toolset === tool.toolset && listedIn(other).includes(name))
  const takes = `${tool.name} takes: ${own.join(', ')}.`
  return others.length > 0
    ? `${name} is an argument of ${others.map((other) => other.name).join(' and ')}. ${takes}`
    : `${name} is not an argument of ${tool.name}, which takes: ${own.join(', ')}.`
}

/** Explains an unknown field of an object inside an argument. */
function unknownInside(path: readonly string[], name: string, tool: Tool): string {
  const own = fieldsAt(tool.input, path.slice(0, -1))
  const meant = nearest(name, own)
  const what = `${path.join('.')} is not a known field.`
  if (meant) return `${what} Did you mean ${meant}?`
  if (listedIn(tool).includes(name)) return `${what} Send ${name} beside ${path[0]}.`
  return own.length > 0 ? `${what} Fields: ${own.join(', ')}.` : what
}

/** Returns the names of the fields that the object at the path takes. */
function fieldsAt(schema: TSchema, path: readonly string[]): string[] {
  const options = [schema, ...((schema.anyOf as TSchema[] | undefined) ?? [])]
  const [first, ...rest] = path
  for (const { properties, items } of options) {
    const fields = (properties ?? {}) as Record<string, TSchema>
    if (first === undefined) {
      if (properties) return Object.keys(fields)
    } else if (items) return fieldsAt(items as TSchema, rest)
    else if (Object.hasOwn(fields, first)) return fieldsAt(fields[first] as TSchema, rest)
  }
  return []
}

/** Errors that a refusal explains. Mending those usually mends the others. */
const MOST_EXPLAINED = 4
/** Characters of one explanation. */
const LONGEST = 300

/** Returns the errors as short sentences: those that differ only by the item that they are about are said once. */
export function summarizeErrors(errors: readonly FieldError[]): string {
  const placeOf = ({ code, pointer }: FieldError) => `${code} ${pointer.replace(/\/\d+(?=\/|$)/g, '/*')}`
  const alike = [...Map.groupBy(errors, placeOf).values()]
  const sentences = alike.slice(0, MOST_EXPLAINED).map(([first, ...others]) => {
    const { message = '' } = first ?? {}
    const text = message.length > LONGEST ? `${message.slice(0, LONGEST)}…` : message
    return others.length > 0 ? `${text} The same for other items.` : text
  })
  const rest = alike.slice(MOST_EXPLAINED).flat().length
  return [...sentences, ...(rest > 0 ? [`${rest} more errors.`] : [])].join(' ')
}

const listedIn = ({ input, unlisted = [] }: Tool): string[] =>
  Object.keys(input.properties).filter((name) => !unlisted.includes(name))

/** Returns the argument that the caller probably meant. */
function nearest(name: string, own: readonly string[]): string | undefined {
  const wanted = lettersOf(name)
  if (wanted === 'id' || wanted === 'ref' || wanted === 'key') return own[0]
  const meant = meanings.get(wanted)?.find((other) => own.includes(other))
  if (meant) return meant
  const near = own.filter((other) => isSimilar(wanted, lettersOf(other)) || isSimilar(lettersOf(other), wanted))
  return near.toSorted((a, b) => editDistance(lettersOf(a), wanted) - editDistance(lettersOf(b), wanted))[0]
}

/** Returns the tool that a caller probably meant by a name that no tool has: a few wrong letters, or other verbs. */
export function nearestTool(name: string, usable: readonly Tool[]): string | undefined {
  const wanted = lettersOf(name)
  if (wanted === '' || wanted.length > 50) return undefined
  const slips = (tool: Tool) => editDistance(lettersOf(tool.name), wanted)
  const noun = nounOf(name)
  const alike = usable.filter(
    (tool) => isSimilar(lettersOf(tool.name), wanted) || isSimilar(wanted, lettersOf(tool.name)),
  )
  const sameVerb = usable.filter((tool) => tool.name.startsWith(`${verbOf(name)}_`) && nounOf(tool.name) === noun)
  return [...alike, ...sameVerb].toSorted((a, b) => slips(a) - slips(b))[0]?.name
}

const verbs = new Map(
  Object.entries({
    add: 'create',
    new: 'create',
    make: 'create',
    read: 'get',
    show: 'get',
    edit: 'update',
    set: 'update',
  }),
)
const verbOf = (name: string): string => {
  const [verb = ''] = name.toLowerCase().split(/[_-]/)
  return verbs.get(verb) ?? verb
}
const nounOf = (name: string): string =>
  name
    .toLowerCase()
    .replace(/^[a-z]+[_-]/, '')
    .replace(/s$/, '')
