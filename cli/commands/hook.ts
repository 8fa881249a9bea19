import type { SessionBrief, SessionItem } from '../../src/features/sessions/schema.ts'
import { linkedProject } from '../linked.ts'
import { at, type Page, query } from '../noun.ts'
import { paragraphs } from '../output.ts'
import { signedInClient, type Where } from '../profiles.ts'

/** What agents' programs run by themselves. It must never stop them: no server or no sign-in means nothing is said. */
export async function hook(what: 'context' | 'checkpoint', where: Where): Promise<void> {
  try {
    const { client } = signedInClient(where)
    const project = linkedProject(client.server)
    if (!project) return
    if (what === 'context') {
      const { brief } = await client.get<SessionBrief>(query('/api/context', { projectId: project.project, budgetTokens: 2000 }))
      // Claude Code and Gemini CLI both read this; the latter takes nothing else.
      const additionalContext = paragraphs(brief.text).join('\n')
      return console.log(JSON.stringify({ hookSpecificOutput: { hookEventName: 'SessionStart', additionalContext } }))
    }
    const { items } = await client.get<Page<SessionItem>>(
      query('/api/sessions', { projectId: project.project, status: 'active', limit: 1 }),
    )
    const [session] = items
    if (!session) return
    const given = process.stdin.isTTY ? '' : await Bun.stdin.text()
    await client.post(at('/api/sessions/:id/checkpoint', session.id), { checkpoint: { nextStep: nextStep(given) } })
  } catch (error) {
    console.error(`tutti: ${error instanceof Error ? error.message : error}`)
  }
}

/** Programs say why they call; a person may pipe his own words. */
function nextStep(given: string): string {
  try {
    const { trigger, custom_instructions: said } = JSON.parse(given) as { trigger?: string; custom_instructions?: string }
    return said || `Go on where the context was cut down${trigger ? ` (${trigger})` : ''}; see the last activity and the open task.`
  } catch {
    return given.trim().slice(0, 4000) || 'Go on where the context was cut down; see the last activity and the open task.'
  }
}
