import { hook } from '../../hooks.ts'
import type { Agent, AgentDetail } from './schema.ts'

type Owned = Pick<Agent, 'id' | 'organizationId'>

/** An agent was deleted. `memory` returns how many memories it had. */
export const onAgentRemoved = hook<{ agent: Owned; keepMemories: boolean }, { memories?: number }>('agents.removed')

/** An agent stopped working: its person left the team, or its last token was revoked. It is not deleted. */
export const onAgentStopped = hook<{ agentId: string }>('agents.stopped')

/** An agent was restored: handlers restore what was deleted with it, at `deletedAt`. */
export const onAgentRestored = hook<{ agent: Owned; deletedAt: string }>('agents.restored')

/** Returns parts of an agent's detail (activity, memories, tasks), as far as the caller may see them. */
export const agentParts = hook<
  { agent: Agent },
  Partial<Pick<AgentDetail, 'recentActivity' | 'recentMemories' | 'openTasks' | 'gatesPassed'>>
>('agents.parts')

/** Returns the names of the caller's own valid MCP tokens in a team, and the agents that use them. */
export const agentTokenNames = hook<{ organizationId: string }, { agentId: string; name: string }[]>(
  'agents.tokenNames',
)
