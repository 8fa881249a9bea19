import { type Ctx, contextOf } from '../../../src/action.ts'
import { system } from '../../../src/auth/actor.ts'
import * as accounts from '../../../src/features/accounts/service.ts'
import { listMembers } from '../../../src/features/organizations/members.ts'
import { renewLeases } from '../../../src/features/tasks/leases/renewal.ts'
import type { McpToken } from '../../../src/features/tokens/schema.ts'
import { listTokens } from '../../../src/features/tokens/service.ts'
import type { JobDefinition } from '../../../src/jobs/definition.ts'
import type { App } from '../../../src/services.ts'
import { type AgentName, agents, people } from '../script.ts'
import { routines } from './routines.ts'
import { keepQuestionOpen, playRoutines, resumeTask, stallOn } from './turns.ts'

/** The agents work until this many minutes after the last call of a visitor. */
const WATCHED_MINUTES = 10

/** Whether a visitor has the dashboard open, or made a call within the last minutes. */
function isWatched({ live, auth, clock }: App): boolean {
  const since = clock().getTime() - WATCHED_MINUTES * 60_000
  return live.size > 0 || (auth.lastCallAt !== undefined && auth.lastCallAt.getTime() > since)
}

/** Lets the agents of the demo work while somebody looks. Only `tutti serve --demo` has this job. */
export const demoLife: JobDefinition<App> = {
  name: 'demo.life',
  every: '* * * * *',
  run: async (app) => {
    if (isWatched(app)) await playMinute(app)
  },
}

/**
 * Plays a minute of the agents' work. They act with their own tokens, so they have only the rights of their team. The
 * stored tasks say what comes next, so a restart changes nothing. If a visitor's change makes a call fail, the agent
 * skips that step in this minute.
 */
export async function playMinute(app: App): Promise<void> {
  const logFailure = (error: unknown) => app.log.debug('the agents of the demo could not work', { error })
  const tokens = await findTokens(app).catch(logFailure)
  const minute = Math.floor(app.clock().getTime() / 60_000)
  for (const [who, play] of Object.entries(turns) as [AgentName, Turn][]) {
    const token = tokens?.get(who)
    const renewed = token && (await app.auth.renew({ kind: 'mcp_token', credentialId: token.id }))
    if (!renewed || 'ended' in renewed) continue
    app.auth.countUse(renewed.actor)
    const ctx = contextOf(app, renewed.actor, { connection: `demo-${who}` })
    for (const step of play(minute)) await step(ctx).catch(logFailure)
    await renewLeases(ctx)
  }
}

type Turn = (minute: number) => ((ctx: Ctx) => Promise<void>)[]

/** What each agent does in a minute. Claude and Reviewer change something every other minute, in turns. */
const turns: Record<AgentName, Turn> = {
  claude: (minute) => [
    (ctx) => resumeTask(ctx, 'LAN-42'),
    (ctx) => playRoutines(ctx, routines.claude, minute % 2 === 0),
    (ctx) => keepQuestionOpen(ctx, 'LAN-42', routines.claude),
  ],
  reviewer: (minute) => [
    (ctx) => resumeTask(ctx, 'LAN-39'),
    (ctx) => playRoutines(ctx, routines.reviewer, minute % 2 === 1),
  ],
  codex: () => [(ctx) => stallOn(ctx, 'LAN-45', routines.codex)],
}

/** Returns the valid tokens of the demo's agents. Empty in an installation that is not a demo. */
async function findTokens(app: App): Promise<Map<AgentName, McpToken>> {
  const found = new Map<AgentName, McpToken>()
  const adaId = await accounts.firstAdmin(contextOf(app, system), {})
  const ada = adaId && contextOf(app, await app.auth.actorFor(adaId))
  if (!ada || (await accounts.me(ada, {})).email !== people.ada.email) return found
  const own = await listTokens(ada, { active: true, limit: 100 })
  const team = own.items.find(({ name }) => name === agents.claude.token)?.organizationId
  const members = team ? (await listMembers(ada, { id: team, limit: 100 })).items : []
  const benId = members.find(({ email }) => email === people.ben.email)?.id
  const ben = benId && contextOf(app, await app.auth.actorFor(benId))
  const all = [...own.items, ...(ben ? (await listTokens(ben, { active: true, limit: 100 })).items : [])]
  for (const [who, { token }] of Object.entries(agents) as [AgentName, (typeof agents)[AgentName]][]) {
    const one = all.find(({ name, organizationId, agentId }) => name === token && organizationId === team && agentId)
    if (one) found.set(who, one)
  }
  return found
}
