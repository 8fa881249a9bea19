import { eq } from 'drizzle-orm'
import { type Ctx, read } from '../../action.ts'
import { memberOrAlone, type Permission, permissionOf, ruleRefusal } from '../../auth/policy.ts'
import { AppError } from '../../errors.ts'
import { requireWriter } from '../organizations/sharing.ts'
import { agentParts } from './hooks.ts'
import { findVisibleAgent } from './names.ts'
import type { Agent, AgentDetail } from './schema.ts'
import { agentWriteRule, requireOwnOrAdmin } from './service.ts'
import { agents } from './table.ts'
import { personOfAgent } from './token-agents.ts'

/** Returns an agent with its activity, memories and tasks, as far as the caller may see them. */
export const getAgentDetail = read(
  'agents.get',
  memberOrAlone('agents:read'),
  async (ctx, { ref }: { ref: string }): Promise<AgentDetail> => {
    const agent = await findVisibleAgent(ctx, ref)
    const parts = await agentParts.call(ctx, { agent })
    const [own] = await ctx.db.select({ client: agents.client }).from(agents).where(eq(agents.id, agent.id))
    // Other teams see a public agent, but not its person or program.
    const isOurs = agent.organizationId ? ctx.actor.memberships.has(agent.organizationId) : true
    const person = isOurs ? await personOfAgent(ctx, agent.id) : undefined
    const may = await writePermission(ctx, agent)
    const known = {
      ...agent,
      client: (isOurs && own?.client) || null,
      for: person ?? null,
      can: { update: may, remove: may },
    }
    return Object.assign({ ...known, recentActivity: [], recentMemories: [], openTasks: [], gatesPassed: 0 }, ...parts)
  },
)

async function writePermission(ctx: Ctx, agent: Agent): Promise<Permission> {
  const byPolicy = ruleRefusal(ctx.actor, agentWriteRule, 'Changing this agent', ctx.app.clock)
  if (byPolicy) return permissionOf(byPolicy)
  try {
    requireWriter(ctx, 'agent', agent)
    await requireOwnOrAdmin(ctx, agent)
    return true
  } catch (error) {
    if (error instanceof AppError) return { code: error.code, detail: error.message }
    throw error
  }
}
