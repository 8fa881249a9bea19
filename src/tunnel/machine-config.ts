import { Type } from '@sinclair/typebox'
import { check } from '../check.ts'
import { array, bool, id, int, object, oneOf, optional, type Static, text } from '../schema.ts'
import { type MachineOffer, MOST_PAYLOAD, type TunnelUser } from './frames.ts'

const userId = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'
const peopleOr = (more: string) => optional(array(text(40, { pattern: `^(owner|members|${more}${userId})$` }), 100))
/** Who may use a service. Without it: only the owner. */
const who = peopleOr('anyone|')
/** Who may use anything else. Anonymous users are never allowed. */
const people = peopleOr('')

const label = Type.String({ pattern: '^[a-z0-9]+(-[a-z0-9]+)*$', maxLength: 30 })
const variable = Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_]*$', maxLength: 100 })
const folder = text(4000, { pattern: '^(/|[A-Za-z]:\\\\)', description: 'An absolute path' })
const argv = Type.Array(text(4000), { minItems: 1, maxItems: 100 })
const env = optional(Type.Record(variable, text(10_000)))
const description = optional(text(500))

/** Only local addresses: a tunnel must not reach the rest of the machine's network. */
const host = 'http://(127\\.0\\.0\\.1|localhost|\\[::1\\]):[0-9]{1,5}'
const local = text(500, {
  pattern: `^(${host}|unix:/.+)$`,
  description: 'http://127.0.0.1:3000, or unix: and the path of a socket',
})

/** A parameter of a command: one argument. Values that begin with `-` must be listed in `enum`. */
export const CommandParam = object({
  type: oneOf(['string', 'integer', 'boolean']),
  description,
  optional: optional(bool()),
  enum: optional(array(text(1000), 100)),
  pattern: optional(text(1000)),
  maxLength: optional(int({ min: 1, max: 10_000 })),
  minimum: optional(Type.Integer()),
  maximum: optional(Type.Integer()),
  secret: optional(bool({ description: 'The history does not show its value' })),
})
export type CommandParam = Static<typeof CommandParam>

/** `argv` is started without a shell. An argument `{name}` stands for the value of a parameter. */
const MachineCommand = object({
  description,
  argv,
  folder,
  env,
  params: optional(Type.Record(Type.String({ pattern: '^[a-z][a-zA-Z0-9_]*$', maxLength: 30 }), CommandParam)),
  who: people,
  confirm: optional(bool({ description: 'Ask at the machine each time' })),
  seconds: optional(int({ min: 1, max: 600, description: 'Ended after this time. Default: 600' })),
})

/** An MCP server on the machine: a program with standard input and output, or an address. */
export const McpServer = object({
  argv: optional(argv),
  folder: optional(folder),
  env,
  url: optional(text(500, { pattern: `^${host}(/[\\x21-\\x7e]*)?$`, description: 'http://127.0.0.1:8000/mcp' })),
  tools: optional(array(text(200), 500, { description: 'The tools that may be listed and called. Default: all' })),
  who: people,
})
export type McpServer = Static<typeof McpServer>

/** A working copy of a git repository that `sync_workspace` may update. */
const Workspace = object({ folder, who: people })

/** `tunnel.json`: what this machine offers, and to whom. The server cannot widen it. */
export const MachineConfig = object({
  server: text(500),
  tunnelId: id(),
  ownerId: id(),
  name: text(100),
  slug: text(30),
  token: text(100),
  services: Type.Record(label, object({ url: local, who }), { maxProperties: 50 }),
  commands: optional(Type.Record(label, MachineCommand, { maxProperties: 50 })),
  mcp: optional(Type.Record(label, McpServer, { maxProperties: 20 })),
  workspaces: optional(Type.Record(label, Workspace, { maxProperties: 20 })),
})
export type MachineConfig = Static<typeof MachineConfig>

/** Returns what is wrong with the content of a `tunnel.json`. */
export function machineProblems(value: unknown): string[] {
  const problems = check(MachineConfig, value).map((e) => `${e.pointer}: ${e.message}`)
  if (problems.length > 0) return problems
  const machine = value as MachineConfig
  for (const [name, { argv, params = {} }] of Object.entries(machine.commands ?? {}))
    problems.push(...commandProblems(argv, params).map((problem) => `/commands/${name}: ${problem}`))
  for (const [name, { argv, url }] of Object.entries(machine.mcp ?? {}))
    if ((argv === undefined) === (url === undefined)) problems.push(`/mcp/${name}: has either argv or url`)
  if (Buffer.byteLength(JSON.stringify(machineOffer(machine))) > MOST_PAYLOAD - 2000)
    problems.push('The descriptions and parameters are too long together.')
  return problems
}

/** The value of a parameter is a whole argument, so that it cannot become part of another argument. */
function commandProblems(argv: readonly string[], params: Record<string, CommandParam>): string[] {
  const problems: string[] = []
  for (const [i, part] of argv.entries()) {
    const name = placeholderOf(part)
    if (name !== undefined && i === 0) problems.push('the program itself cannot be a parameter')
    if (name !== undefined && !Object.hasOwn(params, name)) problems.push(`argv names {${name}}, which is no parameter`)
  }
  const used = new Set(argv.map(placeholderOf))
  for (const [name, { pattern }] of Object.entries(params)) {
    if (!used.has(name)) problems.push(`no argument is {${name}}`)
    if (pattern !== undefined && !isPattern(pattern)) problems.push(`the pattern of ${name} is not valid`)
  }
  return problems
}

/** Returns the parameter name of an argument `{name}`. */
export const placeholderOf = (argument: string): string | undefined => /^\{([a-z][a-zA-Z0-9_]*)\}$/.exec(argument)?.[1]

function isPattern(source: string): boolean {
  try {
    return new RegExp(source, 'u') !== undefined
  } catch {
    return false
  }
}

const offerEntries = (list: Record<string, { who?: string[] }> = {}) =>
  Object.entries(list).map(([name, { who }]) => ({ name, who: who ?? ['owner'] }))

export function machineOffer(
  machine: Pick<MachineConfig, 'services' | 'commands' | 'mcp' | 'workspaces'>,
): MachineOffer {
  const commands = Object.entries(machine.commands ?? {}).map(([name, command]) => {
    const { description, who, confirm, params = {} } = command
    const secret = Object.keys(params).filter((param) => params[param]?.secret)
    const about = { ...(description && { description }), ...(secret.length > 0 && { secret }) }
    return { name, ...about, who: who ?? ['owner'], confirm: confirm ?? false, params: paramsSchema(params) }
  })
  return {
    services: offerEntries(machine.services),
    commands,
    mcp: offerEntries(machine.mcp),
    workspaces: offerEntries(machine.workspaces),
  }
}

/** Returns whether the list allows this user. Without a list: only the owner of the machine. */
export function isAllowed(list: readonly string[] | undefined, user: TunnelUser | null, ownerId: string): boolean {
  return (list ?? ['owner']).some((entry) => {
    if (entry === 'anyone') return true
    if (!user) return false
    if (entry === 'owner') return user.id === ownerId
    if (entry === 'members') return user.role !== 'viewer'
    return entry === user.id
  })
}

/** Returns the JSON Schema of the parameters of a command, for forms and agents. */
export function paramsSchema(params: Readonly<Record<string, CommandParam>>): Record<string, unknown> {
  const properties = Object.entries(params).map(([name, { optional: _, secret, ...schema }]) => [
    name,
    { ...schema, ...(secret && { writeOnly: true }) },
  ])
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    required: Object.keys(params).filter((name) => !params[name]?.optional),
    additionalProperties: false,
  }
}
