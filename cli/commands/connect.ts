import { hostname } from 'node:os'
import { type AgentClient, type AgentClientName, clients } from '../../src/mcp/clients.ts'
import { agentFiles } from '../agents/files.ts'
import { withHooks } from '../agents/hooks.ts'
import { keepToken, makeToken } from '../agents/mcp-token.ts'
import {
  editSettings,
  isInGit,
  newSettings,
  readSettings,
  valueAt,
  withValue,
  writeSettings,
} from '../agents/settings-file.ts'
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

/** Creates a token for an agent's program and adds this server to its settings. */
export async function connect(program: AgentClientName, options: Options): Promise<void> {
  const { print: printOnly, stdio, project, yes, json, hooks: wantsHooks, ...where } = options
  const agent = clients[program]
  const files: { settings: string; hooks?: string } = agentFiles[program]
  const file = files.settings
  const hooks = wantsHooks && agent.hooks && files.hooks ? { ...agent.hooks, file: files.hooks } : undefined
  const who = signedInClient(where)
  const { server } = who.client
  if (!printOnly) {
    // Everything that can be refused is refused before anything is created or written.
    if (hooks) withHooks(hooks.file, hooks)
    await checkSettings(agent, file, { stdio, yes })
  }
  const entry = stdio
    ? agent.stdio([process.execPath, 'mcp', '--server', server])
    : agent.http(server, await tokenFor(agent, who.client, project))
  if (stdio) await keepToken(who)
  if (printOnly) {
    const settings = withValue({}, agent.path, entry)
    return print(json, { program, server, file, settings }, newSettings(file, agent.path, entry))
  }
  writeSettings(file, editSettings(file, agent.path, entry), { secret: !stdio })
  if (hooks) writeSettings(hooks.file, withHooks(hooks.file, hooks))
  const lines = [`${bold(agent.title)} is connected to ${server} as "tutti" (${file}).`]
  if (hooks)
    lines.push(
      `In linked folders, it loads the project's context when a session starts ` +
        `and saves a checkpoint before its context is compacted (${hooks.file}).`,
    )
  if (hooks?.note) lines.push(hooks.note)
  print(json, { program, server, file, hooks: hooks?.file ?? null }, ...lines)
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
async function tokenFor({ title }: AgentClient, client: Client, project: string | undefined): Promise<string> {
  const found = project && (await client.get<{ id: string }>(`/api/projects/${encodeURIComponent(project)}`))
  return (await makeToken(client, { name: `${title} on ${hostname()}`, ...(found && { projectId: found.id }) }))
    .token as string
}

async function confirm(question: string): Promise<boolean> {
  if (!process.stdin.isTTY) return false
  process.stderr.write(`${question} [y/N] `)
  for await (const line of console) return /^y(es)?$/i.test(line.trim())
  return false
}
