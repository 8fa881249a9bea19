import type { FieldError } from '../errors.ts'
import { distance, isNear } from '../text/near.ts'
import type { Tool } from './tool.ts'

/** Words that callers use for an argument, where no letter of its name tells. */
const meanings = new Map<string, readonly string[]>(
  Object.entries({
    name: ['title'],
    title: ['name'],
    body: ['content', 'description', 'comment'],
    text: ['content', 'description', 'comment'],
    note: ['notes', 'comment'],
    message: ['comment', 'notes'],
    owner: ['assignee'],
    dependencies: ['blockedBy'],
    dependson: ['blockedBy'],
    deadline: ['dueAt'],
    state: ['status'],
    keywords: ['query'],
    words: ['query'],
    count: ['limit'],
    page: ['cursor'],
    offset: ['cursor'],
  }),
)

const plain = (name: string): string => name.replace(/[^a-z]/gi, '').toLowerCase()

/** Returns the errors about arguments. One about an unknown argument names the right argument or tool. */
export const explained = (errors: readonly FieldError[], tool: Tool, usable: readonly Tool[]): FieldError[] =>
  errors.map((error) => {
    const name = error.code === 'unknown_field' ? /^\/([^/]+)$/.exec(error.pointer)?.[1] : undefined
    return name === undefined ? error : { ...error, message: unknown(name, tool, usable) }
  })

function unknown(name: string, tool: Tool, usable: readonly Tool[]): string {
  const own = listedIn(tool)
  const meant = nearest(name, own)
  if (meant) return `${name} is not an argument of ${tool.name}. Did you mean ${meant}?`
  const others = usable.filter((other) => other.toolset === tool.toolset && listedIn(other).includes(name))
  const takes = `${tool.name} takes: ${own.join(', ')}.`
  return others.length > 0
    ? `${name} is an argument of ${others.map((other) => other.name).join(' and ')}. ${takes}`
    : `${name} is not an argument of ${tool.name}, which takes: ${own.join(', ')}.`
}

const listedIn = ({ input, unlisted = [] }: Tool): string[] =>
  Object.keys(input.properties).filter((name) => !unlisted.includes(name))

/** Returns the argument that the caller probably meant. */
function nearest(name: string, own: readonly string[]): string | undefined {
  const wanted = plain(name)
  if (wanted === 'id' || wanted === 'ref' || wanted === 'key') return own[0]
  const meant = meanings.get(wanted)?.find((other) => own.includes(other))
  if (meant) return meant
  const near = own.filter((other) => isNear(wanted, plain(other)) || isNear(plain(other), wanted))
  return near.toSorted((a, b) => distance(plain(a), wanted) - distance(plain(b), wanted))[0]
}
