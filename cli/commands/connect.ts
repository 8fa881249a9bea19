import { chmodSync, existsSync, mkdirSync, readFileSync, realpathSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { dirname } from 'node:path'
import type { Client } from '../client.ts'
import { type AgentClient, clients } from '../clients.ts'
import { linkedProject } from '../linked.ts'
import { keepToken, makeToken } from '../mcp-token.ts'
import { bold } from '../output.ts'
import { signedInClient, type Where } from '../profiles.ts'
import { Refusal } from '../report.ts'

interface Options extends Where {
  print?: boolean
  stdio?: boolean
  hooks: boolean
  yes?: boolean
}

type Settings = Record<string, unknown>

/** Makes a token for an agent's program and writes the server into its settings; nothing that is there is lost or replaced unasked. */
export async function connect(name: keyof typeof clients, { print, stdio, hooks, yes, ...where }: Options): Promise<void> {
  const agent: AgentClient = clients[name]
  const { client } = signedInClient(where)
  const { file, at } = agent
  if (!print) {
    // All that can be refused is, before anything is made or written.
    if (hooks && agent.hooks) read(agent.hooks.file)
    if (below(read(file), at) !== undefined && !yes && !(await sure(`${file} has a server named tutti already. Replace it?`)))
      throw new Refusal(`${file} has a server named tutti already. Say --yes to replace it, or --print to write it yourself.`, 5)
    changed(file, at, { url: 'https://tutti.invalid' })
  }
  const entry = stdio
    ? agent.stdio([process.execPath, 'mcp', '--server', client.server])
    : agent.entry(client.server, await tokenFor(agent, client))
  if (stdio) await keepToken(client)
  if (print) return console.log(isToml(file) ? toml(at, entry).trimEnd() : JSON.stringify(nested({}, at, entry), null, 2))
  write(file, changed(file, at, entry), { secret: !stdio })
  console.log(`${bold(agent.title)} knows ${client.server} as tutti now (${file}).`)
  if (!hooks || !agent.hooks) return
  write(agent.hooks.file, json(agent.hooks.merge(read(agent.hooks.file))))
  console.log(
    `In linked folders it reads the context when a session starts, and saves a checkpoint before it forgets (${agent.hooks.file}).`,
  )
}

async function tokenFor({ title }: AgentClient, client: Client): Promise<string> {
  const projectId = linkedProject(client.server)?.project
  return (await makeToken(client, { name: `${title} on ${hostname()}`, ...(projectId && { projectId }) })).token as string
}

// ---- its settings

const isToml = (file: string): boolean => file.endsWith('.toml')
const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`
const textOf = (file: string): string => (existsSync(file) ? readFileSync(file, 'utf8') : '')

function read(file: string): Settings {
  const text = textOf(file)
  if (!text.trim()) return {}
  try {
    const settings: unknown = isToml(file) ? Bun.TOML.parse(text) : JSON.parse(text)
    if (settings !== null && typeof settings === 'object' && !Array.isArray(settings)) return settings as Settings
  } catch {
    // Told below.
  }
  const why = isToml(file) ? 'cannot be read' : 'has comments, which writing it would lose, or is no JSON'
  throw new Refusal(`${file} ${why}. Use --print and add it yourself.`)
}

const below = (settings: Settings, at: readonly string[]): unknown =>
  at.reduce<unknown>((value, key) => (value as Settings | undefined)?.[key], settings)

function nested(settings: Settings, [key, ...rest]: readonly string[], entry: unknown): Settings {
  const inner = settings[key as string] as Settings | undefined
  return { ...settings, [key as string]: rest.length === 0 ? entry : nested(inner ?? {}, rest, entry) }
}

function changed(file: string, at: readonly string[], entry: Settings): string {
  const wanted = nested(read(file), at, entry)
  if (!isToml(file)) return json(wanted)
  const text = withToml(textOf(file), at, entry)
  if (!Bun.deepEquals(attempt(text), wanted)) throw new Refusal(`${file} is written in a way of its own. Use --print and add it yourself.`)
  return text
}

function attempt(text: string): unknown {
  try {
    return Bun.TOML.parse(text)
  } catch {
    return undefined
  }
}

/** Only what an entry of ours can hold: texts, lists of texts, and one table of texts. */
function toml(at: readonly string[], entry: Settings): string {
  const value = (v: unknown): string =>
    v !== null && typeof v === 'object' && !Array.isArray(v)
      ? `{ ${Object.entries(v)
          .map(([k, x]) => `${k} = ${JSON.stringify(x)}`)
          .join(', ')} }`
      : JSON.stringify(v)
  return [`[${at.join('.')}]`, ...Object.entries(entry).map(([k, v]) => `${k} = ${value(v)}`), ''].join('\n')
}

/** As text, so that comments and order stay: ours goes out with the tables below it, and comes in at the end. */
function withToml(text: string, at: readonly string[], entry: Settings): string {
  const own = new RegExp(`^\\s*\\[\\s*${at.join('\\s*\\.\\s*')}\\s*[.\\]]`)
  let within = false
  const others = text.split('\n').filter((line) => {
    if (/^\s*\[/.test(line)) within = own.test(line)
    return !within
  })
  const before = others.join('\n').trimEnd()
  return `${before}${before ? '\n\n' : ''}${toml(at, entry)}`
}

/** Whole or not at all. What holds a token nobody else can read; else it stays as open as it was. A link stays a link. */
function write(file: string, text: string, { secret = false } = {}): void {
  mkdirSync(dirname(file), { recursive: true })
  const target = existsSync(file) ? realpathSync(file) : file
  const mode = secret || !existsSync(target) ? 0o600 : statSync(target).mode & 0o777
  writeFileSync(`${target}.new`, text, { mode, flush: true })
  chmodSync(`${target}.new`, mode)
  renameSync(`${target}.new`, target)
}

async function sure(question: string): Promise<boolean> {
  if (!process.stdin.isTTY) return false
  process.stderr.write(`${question} [y/N] `)
  for await (const line of console) return /^y(es)?$/i.test(line.trim())
  return false
}
