import { hook } from '../../hooks.ts'
import type { Agent, AgentDetail } from './schema.ts'

type Owned = Pick<Agent, 'id' | 'organizationId'>

/** An agent was deleted. Memory returns how many memories it had. */
export const onAgentRemoved = hook<{ agent: Owned; keepMemories: boolean }, { memories?: number }>('agents.removed')

/** An agent came back: what was deleted with it, at `deletedAt`, comes back too. */
export const onAgentRestored = hook<{ agent: Owned; deletedAt: string }>('agents.restored')

/** Returns parts of an agent's detail: what it did, remembers and has to do, as far as the caller may see it. */
export const agentParts = hook<
  { agent: Agent },
  Partial<Pick<AgentDetail, 'recentActivity' | 'recentMemories' | 'openTasks'>>
>('agents.parts')
