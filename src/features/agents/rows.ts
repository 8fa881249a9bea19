import { eq, type SQL } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { type Rights, rightsOf } from '../../auth/rights.ts'
import { findShared, visibleTo as sharedVisibleTo } from '../organizations/sharing.ts'
import type { Agent } from './schema.ts'
import { agents } from './table.ts'

export const agentItemColumns = {
  id: agents.id,
  createdAt: agents.createdAt,
  updatedAt: agents.updatedAt,
  version: agents.version,
  organizationId: agents.organizationId,
  createdById: agents.createdById,
  name: agents.name,
  slug: agents.slug,
  role: agents.role,
  model: agents.model,
  provider: agents.provider,
  skills: agents.skills,
  memoryScope: agents.memoryScope,
  scope: agents.scope,
  status: agents.status,
}
export const agentColumns = { ...agentItemColumns, persona: agents.persona, systemPrompt: agents.systemPrompt }

/** A credential that is limited to projects sees no agent but its own. */
export const visibleTo = (rights: Rights): SQL => sharedVisibleTo(agents, rights, ({ agent }) => eq(agents.id, agent))

/** Finds an agent by id, slug or the unique beginning of its id. `findVisibleAgent` also finds it by its name. */
export const findAgentByReference = (ctx: Ctx, ref: string): Promise<Agent> =>
  findShared(ctx, agents, agentColumns, { noun: 'agent', ref, visible: visibleTo(rightsOf(ctx.actor)) })
