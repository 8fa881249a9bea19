import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { dirname } from 'node:path'
import { type AgentClient, clients, type Hooks } from '../agents/clients.ts'
import { type Key, put, withValue } from '../agents/jsonc.ts'
import { keepToken, makeToken } from '../agents/mcp-token.ts'
import type { Client } from '../api/client.ts'
import { signedInClient, type Where } from '../api/profiles.ts'
import { bold, print } from '../terminal/output.ts'
import { Refusal } from '../terminal/report.ts'

interface Options extends Where {
  print?: boolean
  stdio?: boolean
  hooks: boolean
  project?: string
  yes?: boolean
  json?: boolean
}

type Settings = Record<string, unknown>

/** Makes a token for an agent's program and writes the server into its settings; nothing that is there is lost or replaced unasked. */
export async function connect(
  program: keyof typeof clients,
  { print: only, stdio, project, yes, json, ...rest }: Options,
): Promise<void> {
  const { hooks: wanted, ...where } = rest
  const agent: AgentClient = clients[program]
  const hooks = wanted ? agent.hooks : undefined
  const who = signedInClient(where)
  const { client } = who
  const { server } = client
  const { file, at } = agent
  if (!only) {
    // All that can be refused is, before anything is made or written.
    if (hooks) withHooks(hooks)
    edited(file, at, { url: 'https://tutti.invalid' })
    if (
      below(read(file), at) !== undefined &&
      !yes &&
      !(await sure(`${file} has a server named tutti already. Replace it?`))
    )
      throw new Refusal(
        `${file} has a server named tutti already. Say --yes to replace it, or --print to write it yourself.`,
        5,
      )
  }
  if (!only && !stdio && !yes && isShared(file))
    throw new Refusal(
      `${file} is kept in git, and a token in it would go along. Use --stdio, which keeps it out, or say --yes.`,
      5,
    )
  const entry = stdio
    ? agent.stdio([process.execPath, 'mcp', '--server', server])
    : agent.entry(server, await tokenFor(agent, client, project))
  if (stdio) await keepToken(who)
  if (only) {
    const settings = withValue({}, at, entry)
    return print(
      json,
      { program, server, file, settings },
      isToml(file) ? toml(at, entry).trimEnd() : JSON.stringify(settings, null, 2),
    )
  }
  write(file, edited(file, at, entry), { secret: !stdio })
  if (hooks) write(hooks.file, withHooks(hooks))
  const told = [`${bold(agent.title)} knows ${server} as tutti now (${file}).`]
  if (hooks)
    told.push(
      `In linked folders it reads the context when a session starts, and saves a checkpoint before it forgets (${hooks.file}).`,
    )
  if (hooks?.note) told.push(hooks.note)
  print(json, { program, server, file, hooks: hooks?.file ?? null }, ...told)
}

/** These settings are for all of a user's folders, so the token is about a project only where he says so. */
async function tokenFor({ title }: AgentClient, client: Client, project: string | undefined): Promise<string> {
  const found = project && (await client.get<{ id: string }>(`/api/projects/${encodeURIComponent(project)}`))
  return (await makeToken(client, { name: `${title} on ${hostname()}`, ...(found && { projectId: found.id }) }))
    .token as string
}

// ---- its settings

const isToml = (file: string): boolean => file.endsWith('.toml')
const textOf = (file: string): string => (existsSync(file) ? readFileSync(file, 'utf8') : '')

function parsed(file: string, text: string): Settings | undefined {
  if (!text.trim()) return {}
  try {
    const settings: unknown = isToml(file) ? Bun.TOML.parse(text) : Bun.JSONC.parse(text)
    if (settings !== null && typeof settings === 'object' && !Array.isArray(settings)) return settings as Settings
  } catch {
    // Told by who asks.
  }
  return undefined
}

function read(file: string): Settings {
  const settings = parsed(file, textOf(file))
  if (!settings) throw new Refusal(`${file} cannot be read. Mend it first, or use --print and add it yourself.`)
  return settings
}

const below = (settings: Settings, at: readonly Key[]): unknown =>
  at.reduce<unknown>((value, key) => (value as Record<Key, unknown> | null | undefined)?.[key], settings)

/** Its text with one value changed. Comments and order stay, and a reader must find nothing changed but that. */
function edited(file: string, at: readonly Key[], value: unknown, text = textOf(file)): string {
  const before = parsed(file, text)
  if (!before) read(file)
  const after = isToml(file) ? withToml(text, at as string[], value as Settings) : put(text, at, value)
  if (!Bun.deepEquals(parsed(file, after), withValue(before, at, value)))
    throw new Refusal(`${file} is written in a way of its own. Use --print and add it yourself.`)
  return after
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

/** Ours goes out with the tables below it, and comes in at the end. */
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

/** Settings are often kept in a repository, and published with it. */
function isShared(file: string): boolean {
  const target = existsSync(file) ? realpathSync(file) : file
  let folder = dirname(target)
  while (!existsSync(folder)) folder = dirname(folder)
  const git = (...args: string[]) =>
    Bun.spawnSync(['git', '-C', folder, ...args], { stdout: 'ignore', stderr: 'ignore', timeout: 5000 }).success
  if (!Bun.which('git') || !git('rev-parse', '--is-inside-work-tree')) return false
  return git('ls-files', '--error-unmatch', target) || !git('check-ignore', '-q', target)
}

// ---- its hooks

interface Hook {
  command?: unknown
  hooks?: Hook[]
}

/** Ours are told apart by their command, and those of others stay. By the whole path: what a desktop starts knows no PATH of a terminal. */
function withHooks({ file, start, before, grouped, version }: Hooks): string {
  let text = textOf(file)
  if (version !== undefined && read(file).version === undefined) text = edited(file, ['version'], version, text)
  for (const [event, what] of [
    [start, 'context'],
    [before, 'checkpoint'],
  ] as const) {
    const command = `${quoted(process.execPath)} hook ${what}`
    const ours = (hook: Hook) =>
      typeof hook.command === 'string' && new RegExp(`tutti[\\w.-]*'? hook ${what}$`).test(hook.command)
    const list = below(parsed(file, text) as Settings, ['hooks', event]) ?? []
    if (!Array.isArray(list)) throw new Refusal(`${file} is written in a way of its own. Use --no-hooks.`)
    const i = (list as Hook[]).findIndex((hook) => (grouped ? hook.hooks?.some(ours) : ours(hook)))
    const own = { type: 'command', command }
    const path: Key[] = ['hooks', event]
    if (i < 0) text = edited(file, [...path, list.length], grouped ? { hooks: [own] } : own, text)
    else if (!grouped) text = edited(file, [...path, i, 'command'], command, text)
    else
      text = edited(
        file,
        [...path, i, 'hooks', (list as Hook[])[i]?.hooks?.findIndex(ours) as number, 'command'],
        command,
        text,
      )
  }
  return text
}

const quoted = (path: string): string => (/^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`)

// ---- writing

/** Whole or not at all. What holds a token nobody else can read; else it stays as open as it was. A link stays a link. */
function write(file: string, text: string, { secret = false } = {}): void {
  mkdirSync(dirname(file), { recursive: true })
  const target = existsSync(file) ? realpathSync(file) : file
  const mode = secret || !existsSync(target) ? 0o600 : statSync(target).mode & 0o777
  const fresh = `${target}.${process.pid}`
  try {
    writeFileSync(fresh, text, { mode: 0o600, flag: 'wx', flush: true })
    chmodSync(fresh, mode)
    renameSync(fresh, target)
  } catch (error) {
    rmSync(fresh, { force: true })
    throw error
  }
}

async function sure(question: string): Promise<boolean> {
  if (!process.stdin.isTTY) return false
  process.stderr.write(`${question} [y/N] `)
  for await (const line of console) return /^y(es)?$/i.test(line.trim())
  return false
}
