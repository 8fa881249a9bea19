import { readFileSync } from 'node:fs'
import type { Checkpoint, Context, Session, SessionItem } from '../../../src/features/sessions/schema.ts'
import { changedFiles, currentBranch } from '../../agents/git.ts'
import { type Client, fetchHealth } from '../../api/client.ts'
import { signedInClient } from '../../api/profiles.ts'
import { findLink, linkedProject } from '../../api/project-link.ts'
import { pathTo, withQuery } from '../../api/reference.ts'
import type { Page } from '../../nouns/resource.ts'
import { paragraphLines } from '../../terminal/output.ts'

/** Time limit: the agent waits for its hooks. */
const LIMIT_MS = 5000
const INPUT_MS = 1000
/** Files that a checkpoint can name. */
const MOST_FILES = 50

/** The input of a hook; each program sends its own fields. */
interface HookInput {
  cwd?: unknown
  workspace_roots?: unknown
  cursor_version?: unknown
  trigger?: unknown
  custom_instructions?: unknown
}

/**
 * Called by the programs of agents. It must never stop them: it always ends soon, with exit code 0 and at most one line
 * on standard error.
 */
export async function runHook(what: string): Promise<void> {
  const timer = setTimeout(() => endHook(`the server did not respond within ${LIMIT_MS / 1000} seconds`), LIMIT_MS)
  try {
    const input = await readInput()
    const folder = [input.cwd, ...(Array.isArray(input.workspace_roots) ? input.workspace_roots : [])].find(
      (f) => typeof f === 'string',
    )
    if (folder) process.chdir(folder)
    const link = findLink()
    if (!link) return endHook()
    const { server } = JSON.parse(readFileSync(link, 'utf8')) as { server: string }
    const { client } = signedInClient({ server })
    // The time limit covers only this request: a renewed sign-in must not be lost before it is stored.
    await fetchHealth(client.server)
    clearTimeout(timer)
    const projectId = linkedProject(client.server)?.project as string
    if (what === 'context') console.log(JSON.stringify(hookOutput(input, await fetchBrief(client, projectId))))
    else if (what === 'checkpoint') await saveCheckpoint(client, projectId, input)
    endHook()
  } catch (error) {
    endHook(error instanceof Error ? error.message : String(error))
  }
}

function endHook(why?: string): void {
  if (why) console.error(`tutti: ${why.split('\n')[0]}`)
  process.exit(0)
}

/** Returns nothing on a terminal, or when the program keeps the pipe open without writing. */
async function readInput(): Promise<HookInput> {
  if (process.stdin.isTTY) return {}
  const text = await Promise.race([Bun.stdin.text(), Bun.sleep(INPUT_MS).then(() => '')])
  try {
    return (JSON.parse(text) ?? {}) as HookInput
  } catch {
    return {}
  }
}

/** Returns the last used session of the project: the agent's own token has started it, not the command line. */
async function findSession(client: Client, projectId: string): Promise<string | undefined> {
  const { items } = await client.get<Page<SessionItem>>(withQuery('/api/sessions', { projectId, limit: 20 }))
  return (items.find((s) => s.status === 'active') ?? items.find((s) => s.status === 'paused'))?.id
}

async function fetchBrief(client: Client, projectId: string): Promise<string> {
  const sessionId = await findSession(client, projectId)
  const { brief } = await client.get<Context>(withQuery('/api/context', { projectId, sessionId, budgetTokens: 2000 }))
  return paragraphLines(brief.text).join('\n')
}

/** Claude Code, Codex, Gemini CLI and VS Code read the first form, Cursor the second. */
const hookOutput = ({ cursor_version: cursor }: HookInput, text: string): object =>
  cursor === undefined
    ? { hookSpecificOutput: { hookEventName: 'SessionStart', additionalContext: text } }
    : { additional_context: text }

/** Saves a checkpoint: keeps what the agent itself saved, and adds the branch and the changed files. */
async function saveCheckpoint(
  client: Client,
  projectId: string,
  { trigger, custom_instructions: instructions }: HookInput,
): Promise<void> {
  const id = await findSession(client, projectId)
  if (!id) return
  const before = (await client.get<Session>(pathTo('/api/sessions/:id', id))).checkpoint
  const branch = currentBranch(process.cwd()) ?? before?.branch
  const changed = changedFiles(process.cwd(), MOST_FILES).filter((file) => file.length <= 1000)
  const files = [...new Set([...(before?.files ?? []), ...changed])].slice(0, MOST_FILES)
  const cause = typeof trigger === 'string' ? ` (${trigger.slice(0, 40)})` : ''
  const fallback = `Continue where the context was compacted${cause}; see the open task.`
  const checkpoint: Checkpoint = {
    ...before,
    nextStep: (typeof instructions === 'string' && instructions.slice(0, 4000)) || before?.nextStep || fallback,
    ...(branch && { branch: branch.slice(0, 200) }),
    ...(files.length > 0 && { files }),
  }
  await client.post(pathTo('/api/sessions/:id/checkpoint', id), { checkpoint })
}
