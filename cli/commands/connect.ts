import { hostname } from 'node:os'
import { type AgentClient, type AgentClientName, clients, settingsText } from '../../src/clients.ts'
import { toolsetNames } from '../../src/mcp/toolsets.ts'
import { agentFiles } from '../agents/files.ts'
import { withHooks } from '../agents/hooks.ts'
import { keepToken, makeToken, revoke, revokeSecret } from '../agents/mcp-token.ts'
import { editSettings, isInGit, readSettings, valueAt, withValue, writeSettings } from '../agents/settings-file.ts'
import type { Client } from '../api/client.ts'
import { signedInClient, type Where } from '../api/profiles.ts'
import { bold, note, print } from '../terminal/output.ts'
import { confirm } from '../terminal/question.ts'
import { Refusal } from '../terminal/report.ts'
import { day, daysOf, left } from '../terminal/times.ts'

interface Options extends Where {
  print?: boolean
  stdio?: boolean
  hooks: boolean
  project?: string
  expires?: string
  toolsets?: string
  yes?: boolean
  json?: boolean
}

/** What `--print` shows in the place of a token. */
const PLACEHOLDER = 'YOUR_TOKEN'

/** Creates a token for an agent's program and adds this server to its settings. */
export async function connect(program: AgentClientName, options: Options): Promise<void> {
  const { print: printOnly, stdio, project, expires, toolsets, yes, json, hooks: wantsHooks, ...where } = options
  const agent = clients[program]
  const files: { settings: string; hooks?: string } = agentFiles[program]
  const file = files.settings
  const hooks = wantsHooks && agent.hooks && files.hooks ? { ...agent.hooks, file: files.hooks } : undefined
  const days = lifetime(expires)
  const who = signedInClient(where)
  const { server } = who.client
  const selected = toolsetsOf(toolsets)
  const narrowed = selected ? ['--toolsets', selected.join(',')] : []
  const stdioEntry = () => agent.stdio([process.execPath, 'mcp', '--server', server, ...narrowed])
  if (printOnly) {
    const entry = stdio ? stdioEntry() : agent.http(server, PLACEHOLDER)
    const settings = withValue({}, agent.path, entry)
    print(json, { program, server, file, settings }, settingsText(agent, entry))
    if (!stdio && !json) note(`Replace ${PLACEHOLDER} with a token: tutti tokens create "${agent.title}"`)
    return
  }
  // Everything that can be refused is refused before anything is created or written.
  if (hooks) withHooks(hooks.file, hooks)
  await checkSettings(agent, file, { stdio, yes })
  const earlier = secretIn(valueAt(readSettings(file), agent.path), server)
  const token = stdio
    ? await keepToken(who, days)
    : await tokenFor(agent, who.client, { project, days, toolsets: selected })
  try {
    const entry = stdio ? stdioEntry() : agent.http(server, token.token)
    writeSettings(file, editSettings(file, agent.path, entry), { secret: !stdio })
    if (hooks) writeSettings(hooks.file, withHooks(hooks.file, hooks))
  } catch (error) {
    if (!stdio) await revoke(who.client, token)
    throw error
  }
  // Only now: until the file was written, the program may have used the earlier token.
  if (earlier) await revokeSecret(who.client, earlier)
  const lines = [`${bold(agent.title)} is connected to ${server} as "tutti" (${file}).`]
  if (hooks)
    lines.push(
      `In linked folders, it loads the project's context when a session starts ` +
        `and saves a checkpoint before its context is compacted (${hooks.file}).`,
    )
  if (hooks?.note) lines.push(hooks.note)
  lines.push(expiryLine(program, token.expiresAt, stdio))
  const { expiresAt } = token
  print(json, { program, server, file, hooks: hooks?.file ?? null, expiresAt }, ...lines)
}

const expiryLine = (program: string, expiresAt: string, stdio: boolean | undefined): string =>
  `Its token expires on ${day(expiresAt)} (${left(expiresAt)}); ${
    stdio ? 'tutti mcp renews it before that.' : `to renew it: tutti connect ${program} --yes`
  }`

function lifetime(text: string | undefined): number | undefined {
  const days = text === undefined ? undefined : daysOf(text)
  if (text !== undefined && !days) throw new Refusal('--expires must be a number of days, such as 30d or 12w')
  return days
}

function toolsetsOf(text: string | undefined): string[] | undefined {
  const names = text?.split(',').map((name) => name.trim())
  const unknown = names?.find((name) => !toolsetNames.includes(name))
  if (unknown !== undefined)
    throw new Refusal(`There is no toolset ${JSON.stringify(unknown)}. Toolsets: ${toolsetNames.join(', ')}`)
  return names
}

/** Returns the token in an entry for this server, which the new entry replaces. */
function secretIn(entry: unknown, server: string): string | undefined {
  const text = JSON.stringify(entry) ?? ''
  return text.includes(JSON.stringify(`${server}/mcp`)) ? /svc_(?:live|test)_\w+/.exec(text)?.[0] : undefined
}

/** Refuses settings that cannot be edited, would publish a token, or have an entry that the user wants to keep. */
async function checkSettings(
  { path }: AgentClient,
  file: string,
  { stdio, yes }: Pick<Options, 'stdio' | 'yes'>,
): Promise<void> {
  editSettings(file, path, { url: 'https://tutti.invalid' })
  const taken = `${file} already has a server named tutti.`
  if (valueAt(readSettings(file), path) !== undefined && !yes && !(await confirm(`${taken} Replace it?`)))
    throw new Refusal(`${taken} Use --yes to replace it, or --print to edit the file yourself.`, 5)
  if (!stdio && !yes && isInGit(file))
    throw new Refusal(
      `${file} is in a git repository, so a token in it could be committed. ` +
        `Use --stdio to keep the token out, or --yes.`,
      5,
    )
}

/** These settings are for all folders of a user, so the token is bound to a project only if they name one. */
async function tokenFor(
  { title }: AgentClient,
  client: Client,
  { project, days, toolsets }: { project?: string; days?: number; toolsets?: string[] },
): Promise<{ id: string; token: string; expiresAt: string }> {
  const found = project && (await client.get<{ id: string }>(`/api/projects/${encodeURIComponent(project)}`))
  const { id, token, expiresAt } = await makeToken(client, {
    name: hostname(),
    client: title,
    ...(found && { projectId: found.id }),
    ...(days && { expiresInDays: days }),
    ...(toolsets && { toolsets }),
  })
  return { id, token: String(token), expiresAt }
}
