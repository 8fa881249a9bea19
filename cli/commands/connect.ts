import { hostname } from 'node:os'
import { type AgentClient, type AgentClientName, type AgentHooks, clients, settingsText } from '../../src/clients.ts'
import { toolsetNames } from '../../src/mcp/toolsets.ts'
import { checkSettings, lifetime, PLACEHOLDER, secretIn } from '../agents/entries.ts'
import { agentFiles } from '../agents/files.ts'
import { withHooks } from '../agents/hooks.ts'
import { keepToken, makeToken, revoke, revokeSecret } from '../agents/mcp-token.ts'
import { editSettings, readSettings, valueAt, withValue, writeSettings } from '../agents/settings-file.ts'
import type { Client } from '../api/client.ts'
import { signedInClient } from '../api/profiles.ts'
import { projectId } from '../api/reference.ts'
import { isTerminal } from '../terminal/environment.ts'
import { bold, note, print } from '../terminal/output.ts'
import { Refusal } from '../terminal/refusal.ts'
import { day, left } from '../terminal/times.ts'
import type { Options } from './connect-options.ts'

/** The program to connect, its files, and the signed-in user. */
interface Place {
  program: AgentClientName
  agent: AgentClient
  who: ReturnType<typeof signedInClient>
  /** The file with the program's settings. */
  file: string
  hooks?: AgentHooks & { file: string }
  /** The token in the entry that is replaced. */
  earlier?: string
}

/** Adds this server to the settings of an agent's program: for signing in by itself, or with a new token. */
export async function connect(program: AgentClientName, options: Options): Promise<void> {
  if (options.tunnel !== undefined)
    return (await import('./connect-tunnel.ts')).connectTunnel(program, options.tunnel, options)
  const { print: printOnly, stdio, yes, json, hooks: wantsHooks, profile, server: named } = options
  // `tutti mcp` renews its token by itself and does not store a limit.
  if (stdio && options.only) throw new Refusal('--only cannot be combined with --stdio.')
  const agent = clients[program]
  const files: { settings: string; hooks?: string } = agentFiles[program]
  const file = files.settings
  const hooks = wantsHooks && agent.hooks && files.hooks ? { ...agent.hooks, file: files.hooks } : undefined
  const days = lifetime(options.expires)
  const selected = toolsetsOf(options.toolsets)
  const who = signedInClient({ profile, server: named })
  const { server } = who.client
  const narrowed = selected ? ['--toolsets', selected.join(',')] : []
  const stdioEntry = () => agent.stdio([process.execPath, 'mcp', '--server', server, ...narrowed])
  if (printOnly) {
    printOut({ program, agent, who, file, hooks }, stdio ? stdioEntry() : agent.http(server, PLACEHOLDER), options)
    return
  }
  // Everything that can be refused is refused before anything is created or written.
  if (hooks) withHooks(hooks.file, hooks)
  await checkSettings(agent, file, { stdio, yes })
  const earlier = secretIn(valueAt(readSettings(file), agent.path), `${server}/mcp`, `${server}/mcp/token`)
  const place = { program, agent, who, file, hooks, earlier }
  const signIn = await signInFor(agent, server, options)
  if (signIn) return withSignIn(place, signIn)
  const token = stdio
    ? await keepToken(who, days)
    : await tokenFor(agent, who.client, { project: options.project, only: options.only, days, toolsets: selected })
  const lines = await withToken(place, token, stdio ? stdioEntry() : agent.http(server, token.token), options)
  const { expiresAt } = token
  print(json, { program, server, file, hooks: hooks?.file ?? null, expiresAt }, ...lines)
}

/** Shows the files that the command would change, and what it would add to each. */
function printOut(
  { program, agent, who, file, hooks }: Place,
  entry: Record<string, unknown>,
  { stdio, json }: Options,
): void {
  const added = hooks && { file: hooks.file, settings: JSON.parse(withHooks(hooks.file, hooks, '')) as object }
  const settings = withValue({}, agent.path, entry)
  const lines = [`Add to ${file}:`, settingsText(agent, entry)]
  if (added) lines.push('', `Add to ${added.file}:`, JSON.stringify(added.settings, null, 2))
  print(json, { program, server: who.client.server, file, settings, hooks: added ?? null }, ...lines)
  if (!stdio && !json) note(`Replace ${PLACEHOLDER} with a token: tutti tokens create "${agent.title}"`)
}

/**
 * Returns how the program signs in by itself, if it can and a terminal is there. Options such as --project apply only
 * to a token: a program that signs in offers these choices on its own page.
 */
async function signInFor(
  { signIn }: AgentClient,
  server: string,
  { stdio, token, json, project, only, expires, toolsets }: Options,
): Promise<AgentClient['signIn']> {
  if (!signIn || stdio || token || json || project || only || expires || toolsets || !isTerminal(1)) return undefined
  const described = await fetch(`${server}/.well-known/oauth-protected-resource/mcp`).catch(() => undefined)
  return described?.ok ? signIn : undefined
}

async function withSignIn(
  { agent, who, file, hooks, earlier }: Place,
  { entry, command }: NonNullable<AgentClient['signIn']>,
): Promise<void> {
  const { server } = who.client
  writeSettings(file, editSettings(file, agent.path, entry(server)))
  if (hooks) writeSettings(hooks.file, withHooks(hooks.file, hooks))
  if (earlier) await revokeSecret(who.client, earlier)
  const lines = [`Added ${server} to ${bold(agent.title)} as "tutti" (${file}).`, `Sign in with: ${command}`]
  print(false, {}, ...lines)
}

/** Writes the entry and returns the lines to print. Revokes the new token if the entry cannot be written. */
async function withToken(
  { program, agent, who, file, hooks, earlier }: Place,
  token: Awaited<ReturnType<typeof tokenFor>>,
  entry: Record<string, unknown>,
  options: Options,
): Promise<string[]> {
  const { stdio } = options
  try {
    writeSettings(file, editSettings(file, agent.path, entry), { secret: !stdio })
    if (hooks) writeSettings(hooks.file, withHooks(hooks.file, hooks))
  } catch (error) {
    if (!stdio) await revoke(who.client, token)
    throw error
  }
  // Only now: until the file was written, the program may have used the earlier token.
  if (earlier) await revokeSecret(who.client, earlier)
  return [
    `${bold(agent.title)} is connected to ${who.client.server} as "tutti" (${file}).`,
    ...(hooks
      ? [
          `In linked folders, it loads the project's context when a session starts ` +
            `and saves a checkpoint before its context is compacted (${hooks.file}).`,
        ]
      : []),
    ...(hooks?.note ? [hooks.note] : []),
    expiryLine(program, token.expiresAt, options),
  ]
}

/** The printed renewal command repeats --only: without it, the new token would not be limited. */
const expiryLine = (program: string, expiresAt: string, { stdio, only = [] }: Options): string =>
  `Its token expires on ${day(expiresAt)} (${left(expiresAt)}); ${
    stdio
      ? 'tutti mcp renews it before that.'
      : `to renew it: tutti connect ${program} ${[...only.map((ref) => `--only ${ref}`), '--yes'].join(' ')}`
  }`

function toolsetsOf(text: string | undefined): string[] | undefined {
  const names = text?.split(',').map((name) => name.trim())
  const unknown = names?.find((name) => !toolsetNames.includes(name))
  if (unknown !== undefined)
    throw new Refusal(`Unknown toolset ${JSON.stringify(unknown)}. Toolsets: ${toolsetNames.join(', ')}`)
  return names
}

/** The settings apply to all folders of a user, so the token has a project only if --project names one. */
async function tokenFor(
  { title }: AgentClient,
  client: Client,
  { project, only, days, toolsets }: { project?: string; only?: string[]; days?: number; toolsets?: string[] },
): Promise<{ id: string; token: string; expiresAt: string }> {
  const projects = only && (await Promise.all(only.map((ref) => projectId(client, ref))))
  const defaultProject = project === undefined ? projects?.[0] : await projectId(client, project)
  const { id, token, expiresAt } = await makeToken(client, {
    name: hostname(),
    client: title,
    ...(projects && { projects }),
    ...(defaultProject && { projectId: defaultProject }),
    ...(days && { expiresInDays: days }),
    ...(toolsets && { toolsets }),
  })
  return { id, token: String(token), expiresAt }
}
