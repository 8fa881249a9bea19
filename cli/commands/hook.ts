import { readFileSync } from 'node:fs'
import type { Checkpoint, Context, Session, SessionItem } from '../../src/features/sessions/schema.ts'
import { type Client, health } from '../api/client.ts'
import { findLink, linkedProject } from '../api/linked.ts'
import { signedInClient } from '../api/profiles.ts'
import { at, query } from '../api/reference.ts'
import type { Page } from '../nouns/resource.ts'
import { paragraphs } from '../terminal/output.ts'

/** An agent waits for its hooks, and goes on without us rather than wait for long. */
const LIMIT_MS = 5000
const INPUT_MS = 1000

/** What programs say when they call, each in its own words. */
interface Told {
  cwd?: unknown
  workspace_roots?: unknown
  cursor_version?: unknown
  trigger?: unknown
  custom_instructions?: unknown
}

/** What agents' programs run by themselves. It must never stop them: whatever happens it ends soon, with 0, and at most one line for people. */
export async function hook(what: string): Promise<void> {
  const timer = setTimeout(() => end(`the server has not answered within ${LIMIT_MS / 1000} seconds`), LIMIT_MS)
  try {
    const told = await input()
    const folder = [told.cwd, ...(Array.isArray(told.workspace_roots) ? told.workspace_roots : [])].find(
      (f) => typeof f === 'string',
    )
    if (folder) process.chdir(folder)
    const link = findLink()
    if (!link) return end()
    const { server } = JSON.parse(readFileSync(link, 'utf8')) as { server: string }
    const { client } = signedInClient({ server })
    // Only this is cut off: whoever renews a sign-in must be there to keep the new one.
    await health(client.server)
    clearTimeout(timer)
    const projectId = linkedProject(client.server)?.project as string
    if (what === 'context') console.log(JSON.stringify(contextFor(told, await context(client, projectId))))
    else if (what === 'checkpoint') await save(client, projectId, told)
    end()
  } catch (error) {
    end(error instanceof Error ? error.message : String(error))
  }
}

function end(why?: string): void {
  if (why) console.error(`tutti: ${why.split('\n')[0]}`)
  process.exit(0)
}

/** A person may call it too; and who keeps the pipe open has nothing to say. */
async function input(): Promise<Told> {
  if (process.stdin.isTTY) return {}
  const text = await Promise.race([Bun.stdin.text(), Bun.sleep(INPUT_MS).then(() => '')])
  try {
    return (JSON.parse(text) ?? {}) as Told
  } catch {
    return {}
  }
}

/** The agent has a token of its own, so its session is another one than the command line's: the one that was used last. */
async function session(client: Client, projectId: string): Promise<string | undefined> {
  const { items } = await client.get<Page<SessionItem>>(query('/api/sessions', { projectId, limit: 20 }))
  return (items.find((s) => s.status === 'active') ?? items.find((s) => s.status === 'paused'))?.id
}

async function context(client: Client, projectId: string): Promise<string> {
  const sessionId = await session(client, projectId)
  const { brief } = await client.get<Context>(query('/api/context', { projectId, sessionId, budgetTokens: 2000 }))
  return paragraphs(brief.text).join('\n')
}

/** Claude Code, Codex, Gemini CLI and VS Code read the one, Cursor the other. */
const contextFor = ({ cursor_version: cursor }: Told, text: string): object =>
  cursor === undefined
    ? { hookSpecificOutput: { hookEventName: 'SessionStart', additionalContext: text } }
    : { additional_context: text }

/** What the agent itself has saved stays, and what can be seen from outside is added. */
async function save(client: Client, projectId: string, { trigger, custom_instructions: said }: Told): Promise<void> {
  const id = await session(client, projectId)
  if (!id) return
  const before = (await client.get<Session>(at('/api/sessions/:id', id))).checkpoint
  const branch = git('symbolic-ref', '--short', 'HEAD')[0] ?? before?.branch
  const changed = git('diff', '--name-only', '--relative', 'HEAD').filter((file) => file.length <= 1000)
  const files = [...new Set([...(before?.files ?? []), ...changed])].slice(0, 50)
  const cut = `Go on where the context was cut down${typeof trigger === 'string' ? ` (${trigger.slice(0, 40)})` : ''}; see the open task.`
  const checkpoint: Checkpoint = {
    ...before,
    nextStep: (typeof said === 'string' && said.slice(0, 4000)) || before?.nextStep || cut,
    ...(branch && { branch: branch.slice(0, 200) }),
    ...(files.length > 0 && { files }),
  }
  await client.post(at('/api/sessions/:id/checkpoint', id), { checkpoint })
}

/** In a repository of whomever: what it has set must not start programs. */
const CAUTION = ['core.quotePath=off', 'core.fsmonitor=false', 'safe.bareRepository=explicit'].flatMap((setting) => [
  '-c',
  setting,
])

function git(...args: string[]): string[] {
  try {
    const ran = Bun.spawnSync(['git', ...CAUTION, ...args], { stderr: 'ignore', timeout: 1000 })
    return ran.success ? ran.stdout.toString().split('\n').filter(Boolean) : []
  } catch {
    return []
  }
}
