import { read } from '../../action.ts'
import { memberOrAlone } from '../../auth/policy.ts'
import { agentParts } from './hooks.ts'
import type { AgentDetail } from './schema.ts'
import { find } from './service.ts'

/** Returns an agent with its activity, memories and tasks, as far as the caller may see them. */
export const detail = read(
  'agents.get',
  memberOrAlone('agents:read'),
  async (ctx, { ref }: { ref: string }): Promise<AgentDetail> => {
    const agent = await find(ctx, ref)
    const parts = await agentParts.call(ctx, { agent })
    return Object.assign({ ...agent, recentActivity: [], recentMemories: [], openTasks: [] }, ...parts)
  },
)
