import { hostname } from 'node:os'
import { type AgentClient, type AgentClientName, type AgentHooks, clients, settingsText } from '../../../src/clients.ts'
import { toolsetNames } from '../../../src/mcp/toolsets.ts'
import { checkSettings, findSecret, PLACEHOLDER, parseLifetime } from '../../agents/entry-checks.ts'
import { agentFiles } from '../../agents/files.ts'
import { withHooks } from '../../agents/hooks.ts'
import { createToken, revokeSecret, revokeToken, storeNewToken } from '../../agents/mcp-token.ts'
import { editSettings, readSettings, valueAt, withValue, writeSettings } from '../../agents/settings-file.ts'
import type { Client } from '../../api/client.ts'
import { signedInClient } from '../../api/profiles.ts'
import { findProjectId } from '../../api/reference.ts'
import { isTerminal } from '../../terminal/environment.ts'
import { bold, printNote, printResult } from '../../terminal/output.ts'
import { Refusal } from '../../terminal/refusal.ts'
import { dateOf, timeLeft } from '../../terminal/times.ts'
import type { ConnectOptions } from './connect-options.ts'

/** The program to connect, its files, and the signed-in user. */
interface ConnectTarget {
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
export async function connectProgram(program: AgentClientName, options: ConnectOptions): Promise<void> {
  if (options.tunnel !== undefined)
    return (await import('./connect-tunnel.ts')).connectTunnel(program, options.tunnel, options)
  const { print: printOnly, stdio, yes, json, hooks: wantsHooks, profile, server: named } = options
  // `tutti mcp` renews its token by itself and does not store a limit.
  if (stdio && options.only) throw new Refusal('--only cannot be combined with --stdio.')
  const agent = clients[program]
  const files: { settings: string; hooks?: string } = agentFiles[program]
  const file = files.settings
  const hooks = wantsHooks && agent.hooks && files.hooks ? { ...agent.hooks, file: files.hooks } : undefined
  const days = parseLifetime(options.expires)
  const selected = parseToolsets(options.toolsets)
  const who = signedInClient({ profile, server: named })
  const { server } = who.client
  const narrowed = selected ? ['--toolsets', selected.join(',')] : []
  const stdioEntry = () => agent.stdio([process.execPath, 'mcp', '--server', server, ...narrowed])
  if (printOnly) {
    printSettings({ program, agent, who, file, hooks }, stdio ? stdioEntry() : agent.http(server, PLACEHOLDER), options)
    return
  }
  // Everything that can be refused is refused before anything is created or written.
  if (hooks) withHooks(hooks.file, hooks)
  await checkSettings(agent, file, { stdio, yes })
  const earlier = findSecret(valueAt(readSettings(file), agent.path), `${server}/mcp`, `${server}/mcp/token`)
  const place = { program, agent, who, file, hooks, earlier }
  const signIn = await findSignIn(agent, server, options)
  if (signIn) return writeSignInEntry(place, signIn)
  const token = stdio
    ? await storeNewToken(who, days)
    : await createTokenFor(agent, who.client, {
        project: options.project,
        only: options.only,
        days,
        toolsets: selected,
      })
  const lines = await writeTokenEntry(place, token, stdio ? stdioEntry() : agent.http(server, token.token), options)
  const { expiresAt } = token
  printResult(json, { program, server, file, hooks: hooks?.file ?? null, expiresAt }, ...lines)
}

/** Shows the files that the command would change, and what it would add to each. */
function printSettings(
  { program, agent, who, file, hooks }: ConnectTarget,
  entry: Record<string, unknown>,
  { stdio, json }: ConnectOptions,
): void {
  const added = hooks && { file: hooks.file, settings: JSON.parse(withHooks(hooks.file, hooks, '')) as object }
  const settings = withValue({}, agent.path, entry)
  const lines = [`Add to ${file}:`, settingsText(agent, entry)]
  if (added) lines.push('', `Add to ${added.file}:`, JSON.stringify(added.settings, null, 2))
  printResult(json, { program, server: who.client.server, file, settings, hooks: added ?? null }, ...lines)
  if (!stdio && !json) printNote(`Replace ${PLACEHOLDER} with a token: tutti tokens create "${agent.title}"`)
}

/**
 * Returns how the program signs in by itself, if it can and a terminal is there. Options such as --project apply only
 * to a token: a program that signs in offers these choices on its own page.
 */
async function findSignIn(
  { signIn }: AgentClient,
  server: string,
  { stdio, token, json, project, only, expires, toolsets }: ConnectOptions,
): Promise<AgentClient['signIn']> {
  if (!signIn || stdio || token || json || project || only || expires || toolsets || !isTerminal(1)) return undefined
  const described = await fetch(`${server}/.well-known/oauth-protected-resource/mcp`).catch(() => undefined)
  return described?.ok ? signIn : undefined
}

async function writeSignInEntry(
  { agent, who, file, hooks, earlier }: ConnectTarget,
  { entry, command }: NonNullable<AgentClient['signIn']>,
): Promise<void> {
  const { server } = who.client
  writeSettings(file, editSettings(file, agent.path, entry(server)))
  if (hooks) writeSettings(hooks.file, withHooks(hooks.file, hooks))
  if (earlier) await revokeSecret(who.client, earlier)
  const lines = [`Added ${server} to ${bold(agent.title)} as "tutti" (${file}).`, `Sign in with: ${command}`]
  printResult(false, {}, ...lines)
}

/** Writes the entry and returns the lines to print. Revokes the new token if the entry cannot be written. */
async function writeTokenEntry(
  { program, agent, who, file, hooks, earlier }: ConnectTarget,
  token: Awaited<ReturnType<typeof createTokenFor>>,
  entry: Record<string, unknown>,
  options: ConnectOptions,
): Promise<string[]> {
  const { stdio } = options
  try {
    writeSettings(file, editSettings(file, agent.path, entry), { secret: !stdio })
    if (hooks) writeSettings(hooks.file, withHooks(hooks.file, hooks))
  } catch (error) {
    if (!stdio) await revokeToken(who.client, token)
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
const expiryLine = (program: string, expiresAt: string, { stdio, only = [] }: ConnectOptions): string =>
  `Its token expires on ${dateOf(expiresAt)} (${timeLeft(expiresAt)}); ${
    stdio
      ? 'tutti mcp renews it before that.'
      : `to renew it: tutti connect ${program} ${[...only.map((ref) => `--only ${ref}`), '--yes'].join(' ')}`
  }`

function parseToolsets(text: string | undefined): string[] | undefined {
  const names = text?.split(',').map((name) => name.trim())
  const unknown = names?.find((name) => !toolsetNames.includes(name))
  if (unknown !== undefined)
    throw new Refusal(`Unknown toolset ${JSON.stringify(unknown)}. Toolsets: ${toolsetNames.join(', ')}`)
  return names
}

/** The settings apply to all folders of a user, so the token has a project only if --project names one. */
async function createTokenFor(
  { title }: AgentClient,
  client: Client,
  { project, only, days, toolsets }: { project?: string; only?: string[]; days?: number; toolsets?: string[] },
): Promise<{ id: string; token: string; expiresAt: string }> {
  const projects = only && (await Promise.all(only.map((ref) => findProjectId(client, ref))))
  const defaultProject = project === undefined ? projects?.[0] : await findProjectId(client, project)
  const { id, token, expiresAt } = await createToken(client, {
    name: hostname(),
    client: title,
    ...(projects && { projects }),
    ...(defaultProject && { projectId: defaultProject }),
    ...(days && { expiresInDays: days }),
    ...(toolsets && { toolsets }),
  })
  return { id, token: String(token), expiresAt }
}
