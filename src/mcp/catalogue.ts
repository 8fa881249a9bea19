import type { Tool as ListedTool } from '@modelcontextprotocol/server'
import { TypeGuard } from '@sinclair/typebox'
import type { Actor } from '../auth/actor.ts'
import { ruleRefusal, toRefusalError } from '../auth/policy.ts'
import { AppError, type FieldError } from '../errors.ts'
import { parseJson } from '../http/body.ts'
import { object, optional, type TObject, type TSchema } from '../schema.ts'
import { currentName, renameFormerArguments } from './former-names.ts'
import type { Tool } from './tool.ts'
import { includesTool, toolsetNames } from './toolsets.ts'

/** The tools that a connection selects by its address: `?toolsets=core,notes&readonly=1`. */
export interface ToolSelection {
  readonly toolsets: readonly string[]
  readonly readOnly: boolean
}

interface Entry {
  readonly tool: Tool
  readonly listed: ListedTool
  /** The tool without the arguments that write, for callers who may only read. */
  readonly reading?: ListedTool
  /** Arguments of array or object type, which some clients send as JSON text. */
  readonly structured: readonly string[]
}

export type Arguments = Record<string, unknown>

const CACHED_LISTS = 500

/** All tools, in the order that clients see, with their schemas converted once. */
export class ToolCatalogue {
  readonly #entries: ReadonlyMap<string, Entry>
  readonly #toolsets: ReadonlySet<string>
  readonly #lists = new Map<string, ListedTool[]>()
  /** Former names, which still work. */
  readonly #aliases: ReadonlyMap<string, string>

  constructor(tools: readonly Tool[]) {
    this.#entries = new Map(tools.map((tool) => [tool.name, entryOf(tool)]))
    if (this.#entries.size !== tools.length) throw new Error('Two tools have the same name')
    this.#aliases = new Map(tools.flatMap(({ name, aliases = [] }) => aliases.map((alias) => [alias, name])))
    const selectable = toolsetNames.filter((name) => tools.some((tool) => includesTool([name], tool)))
    this.#toolsets = new Set([...selectable, ...tools.map((t) => t.toolset)])
  }

  get(name: string): Tool | undefined {
    return this.#entries.get(this.#aliases.get(name) ?? name)?.tool
  }

  /** Returns what a client shows its model of the tool, for a token that may do everything. */
  text(name: string): string {
    return toolText((this.#entries.get(name) as Entry).listed)
  }

  /** Reads the selection from the query. Throws for an unknown toolset: a misspelt one must not look empty. */
  selection(query: URLSearchParams): ToolSelection {
    const toolsets = (query.get('toolsets') ?? '')
      .split(',')
      .map((t) => t.trim())
      .filter(Boolean)
    const unknown = toolsets.filter((t) => !this.#toolsets.has(t))
    if (unknown.length > 0)
      throw new AppError(
        'invalid',
        `Unknown toolset: ${unknown.map((t) => JSON.stringify(t.slice(0, 50))).join(', ')}. Toolsets: ${[...this.#toolsets].join(', ')}.`,
      )
    const readOnly = query.get('readonly')
    return { toolsets, readOnly: readOnly !== null && readOnly !== '0' && readOnly !== 'false' }
  }

  /** Returns the tools that a caller may use. */
  usable({ actor, selection }: { actor: Actor; selection: ToolSelection }): Tool[] {
    return [...this.#entries.values()].flatMap(({ tool }) => (toolRefusal(tool, actor, selection) ? [] : [tool]))
  }

  /** Returns the cache key of `list`. */
  key(actor: Actor, { toolsets, readOnly }: ToolSelection): string {
    const role = actor.organizationId ? actor.memberships.get(actor.organizationId) : undefined
    const limited = actor.projects !== undefined
    return JSON.stringify([actor.kind, actor.scopes, actor.admin, role, actor.toolsets, limited, toolsets, readOnly])
  }

  list(actor: Actor, selection: ToolSelection): ListedTool[] {
    const key = this.key(actor, selection)
    const known = this.#lists.get(key)
    if (known) return known
    const list = [...this.#entries.values()]
      .filter(({ tool }) => !toolRefusal(tool, actor, selection))
      .map(({ tool, listed, reading }) =>
        reading && toolRefusal(tool, actor, selection, tool.writing) ? reading : listed,
      )
    if (this.#lists.size >= CACHED_LISTS) this.#lists.delete(this.#lists.keys().next().value as string)
    this.#lists.set(key, list)
    return list
  }

  /**
   * Returns the arguments by their current names, with JSON text parsed into arrays and objects. The schema refuses
   * everything else.
   */
  read(tool: Tool, args: Arguments): { args: Arguments; errors: FieldError[] } {
    const structured = this.#entries.get(tool.name)?.structured ?? []
    const parsed = Object.entries(args).map(([name, value]) => {
      const isJson = typeof value === 'string' && /^\s*[[{]/.test(value)
      return [name, isJson && structured.includes(currentName(tool.input, name)) ? parsedOr(value) : value]
    })
    return renameFormerArguments(tool.input, Object.fromEntries(parsed))
  }
}

/** Returns the value of JSON text, or the text if it is none. */
function parsedOr(text: string): unknown {
  try {
    return parseJson(Buffer.from(text))
  } catch {
    return text
  }
}

/** Returns why this connection may not use the tool, or undefined. Used for listing and for calling. */
export function toolRefusal(
  tool: Tool,
  actor: Actor,
  { toolsets, readOnly }: ToolSelection,
  { name = tool.name, action }: { name?: string; action: Tool['action'] } = tool,
): AppError | undefined {
  const granted = actor.toolsets ?? []
  if (!includesTool(granted, tool))
    return new AppError(
      'forbidden',
      `${tool.name} is in the toolset ${tool.toolset}, and this token has only: ${granted.join(', ')}. Ask its owner for a token with the toolset ${tool.toolset}.`,
    )
  if (!includesTool(toolsets, tool))
    return new AppError(
      'forbidden',
      `${tool.name} is in the toolset ${tool.toolset}, and this connection chose only: ${toolsets.join(', ')}. Connect with ?toolsets=${[...toolsets, tool.toolset].join(',')} to use it.`,
    )
  if (readOnly && action.kind !== 'read')
    return new AppError(
      'forbidden',
      `${name} writes, and this connection is read-only. Connect without ?readonly=1 to use it.`,
    )
  const byRule = ruleRefusal(actor, action.rule, name, () => new Date())
  return byRule && toRefusalError(byRule)
}

/** Returns what a client shows its model of a listed tool. */
export const toolText = ({ name, description, inputSchema }: ListedTool): string =>
  JSON.stringify({ name, description, inputSchema })

/** Returns what a client shows its model of the tool: for a token that may do everything, and for one that may read. */
export function toolTexts(tool: Tool): [string, ...string[]] {
  const { listed, reading } = entryOf(tool)
  return [toolText(listed), ...(reading ? [toolText(reading)] : [])]
}

function entryOf(tool: Tool): Entry {
  const { writing, unlisted = [] } = tool
  const input = simplifiedInput(tool)
  const shown = writing?.fields.some((field) => !unlisted.includes(field))
  const read = toListedTool(
    tool,
    tool.action,
    without(input, [...(writing?.fields ?? []), ...unlisted, 'idempotencyKey']),
  )
  const entry = { tool, structured: structuredArguments(tool.input) }
  if (writing && !shown) return { ...entry, listed: read }
  const whole = toListedTool(tool, writing?.action ?? tool.action, without(input, unlisted))
  return { ...entry, listed: whole, ...(writing && { reading: read }) }
}

const simplifiedInput = ({ input, listedAs = {} }: Tool): TObject =>
  object(
    Object.fromEntries(
      Object.entries(input.properties).map(([name, schema]) => {
        const shown = listedAs[name] ?? schema
        return [name, TypeGuard.IsOptional(schema) ? optional(shown) : shown]
      }),
    ),
  )

const without = ({ properties }: TObject, names: readonly string[]): TObject =>
  object(Object.fromEntries(Object.entries(properties).filter(([name]) => !names.includes(name))))

function toListedTool({ name, title, description }: Tool, action: Tool['action'], input: TObject): ListedTool {
  const readOnlyHint = action.kind === 'read'
  return {
    name,
    title,
    description,
    inputSchema: toJsonSchema(input) as ListedTool['inputSchema'],
    annotations: {
      readOnlyHint,
      destructiveHint: !readOnlyHint && action.hints.destructive === true,
      idempotentHint: readOnlyHint || action.hints.idempotent === true,
      openWorldHint: action.hints.outside === true,
    },
  }
}

/** Returns a TypeBox schema as plain JSON Schema that model APIs accept, without parts that only cost tokens. */
const toJsonSchema = (schema: TObject): unknown =>
  JSON.parse(JSON.stringify(schema), (key, value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    if (Array.isArray(value.examples)) delete value.examples
    if (value.type === 'object' && !value.properties) delete value.patternProperties
    if (key !== '' && value.additionalProperties === false) delete value.additionalProperties
    removeGenerousLimits(value)
    if (value.type === 'string' && value.pattern === '\\S') delete value.pattern
    if (value.type === 'string' && ['uuid', 'date-time', 'date-or-time'].includes(value.format)) delete value.format
    if (value.type === 'number' && value.multipleOf === 1) {
      value.type = 'integer'
      delete value.multipleOf
    }
    if (value.type === 'string' && value.format === 'url') value.format = 'uri'
    // A number costs a token less where the schema ends with it.
    return typeof value.type === 'string' ? { type: value.type, ...value } : value
  })

/**
 * Keeps the limits that callers reach in practice: of titles, lists of records, short lists, and numbers where 1 or
 * 1,000 is not allowed. The others are still checked, and errors name them; listing each would cost six tokens.
 */
function removeGenerousLimits(schema: Record<string, unknown>): void {
  const { type, items, pattern, maxItems, maxLength, minimum, maximum } = schema as TSchema
  const isTitle = type === 'string' && pattern === '\\S' && maxLength === 200
  const isOfRecords = type === 'array' && (items?.type === 'object' || items?.anyOf !== undefined)
  if (!isTitle) removeLimit(schema, 'maxLength')
  if (items?.enum || maxItems > (isOfRecords ? 50 : 49)) removeLimit(schema, 'maxItems')
  for (const name of ['minLength', 'minItems', 'uniqueItems']) removeLimit(schema, name)
  if (type === 'number' && minimum <= 1) removeLimit(schema, 'minimum')
  if (type === 'number' && maximum >= 1000) removeLimit(schema, 'maximum')
}

/** Removes a limit. An argument may have the same name as one. */
function removeLimit(schema: Record<string, unknown>, name: string): void {
  if (typeof schema[name] !== 'object') delete schema[name]
}

const structuredArguments = (input: TObject): string[] =>
  Object.entries(input.properties as Record<string, TSchema>)
    .filter(([, schema]) => {
      const types = ((schema.anyOf as TSchema[] | undefined) ?? [schema]).filter((s) => s.const === undefined)
      return types.some((s) => s.type === 'array' || s.type === 'object') && types.every((s) => s.type !== 'string')
    })
    .map(([name]) => name)
