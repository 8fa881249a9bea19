import { check } from '../../src/check.ts'
import { exampleOf } from '../../src/http/openapi.ts'
import type { Tool } from '../../src/mcp/tool.ts'
import { recordNames } from '../../src/records/names.ts'
import type { TSchema } from '../../src/schema.ts'
import { fieldOf, type World, workable } from './world.ts'

export const properties = (tool: Tool): [string, TSchema][] =>
  Object.entries(tool.input.properties as Record<string, TSchema>)

const kinds = new Set<string>([...recordNames, 'repo', 'activity'])

/** Returns the names of the arguments that refer to a record. */
export const references = (tool: Tool): string[] =>
  properties(tool).flatMap(([name, { maxLength, description }]) => {
    // A session is the caller's own by default, a memory is about one thing, and a repository is connected once.
    if (name === 'session' || ('scopeId' in tool.input.properties && name !== 'memory')) return []
    if (tool.action.id === 'repositories.connect' && name === 'repo') return []
    const named = kinds.has(name) && maxLength <= 300
    return named || /^Id\b/.test(description ?? '') ? [name] : []
  })

/** Returns the least that a call needs, with ids that exist. */
export function argumentsOf(tool: Tool, from: World): Record<string, unknown> {
  const example: Record<string, unknown> = { ...(exampleOf(tool.input) as object), ...workable[tool.action.id] }
  // A plan is optional, because a correction of an earlier one may be sent in its place.
  const needed = [...((tool.input.required ?? []) as string[]), ...('epics' in tool.input.properties ? ['epics'] : [])]
  const input = Object.fromEntries(needed.map((name) => [name, example[name]]))
  const own = properties(tool).flatMap(([name]) =>
    `${tool.action.id}.${name}` in from.fields && !(name in (workable[tool.action.id] ?? {})) ? [name] : [],
  )
  for (const name of new Set([...references(tool), ...own])) {
    const value = fieldOf(from, tool.action.id, name)
    if (value === undefined)
      throw new Error(`Nothing to put for ${name} of ${tool.name}. Add it to \`fields\` in test/contract/world.ts.`)
    input[name] = value
  }
  const problems = check(tool.input, input)
  if (problems.length > 0) throw new Error(`${tool.name} does not take these arguments: ${JSON.stringify(problems)}`)
  return input
}
