import { and, asc, eq, isNull, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { randomTail } from '../../auth/secrets.ts'
import { slugify } from '../../text/text.ts'
import { planUsage } from '../organizations/hooks.ts'
import { hasPlanRoom, requirePlanRoom } from '../organizations/plans.ts'
import { users } from '../users/table.ts'
import { agentCreated, agentUpdated } from './events.ts'
import { agents } from './table.ts'

/** Agents that are created for MCP tokens. Each is named after its program and token, and works for the user. */

const NAME_LENGTH = 100
/** While the program is unknown, the agent has the name of its token, and keeps it once the program is known. */
const nameOf = (client: string | undefined, token: string, number: number): string =>
  `${(client ? `${client} (${token})` : token).slice(0, NAME_LENGTH - 4)}${number > 1 ? ` ${number}` : ''}`

const isActive = and(eq(agents.status, 'active'), isNull(agents.deletedAt))

/** Counts the agents of a team that can work. */
export const countAgentsForPlan = planUsage.handle((ctx, { organizationId, limit }) =>
  limit === 'agents' ? ctx.db.$count(agents, and(eq(agents.organizationId, organizationId), isActive)) : 0,
)

interface TokenAgent {
  organizationId: string
  /** The user whose token it is. */
  userId: string
  /** The name of the token. */
  token: string
  /** The program that uses it, if known. */
  client?: string
  /** For a token whose agent was deleted. It must have an agent, so the limits of the plan do not apply. */
  isReplacement?: true
  /** Returns whether another token uses the agent. Default: tokens of one name share their agent. */
  isUsed?: (agentId: string) => Promise<boolean>
}

/** Returns the id of the agent that was created for a token of the user. */
async function findTokenAgent(
  { db }: Ctx,
  { organizationId, userId, name }: Pick<TokenAgent, 'organizationId' | 'userId'> & { name: string },
): Promise<string | undefined> {
  const [known] = await db
    .select({ id: agents.id })
    .from(agents)
    .where(and(eq(agents.forId, userId), eq(agents.organizationId, organizationId), eq(agents.name, name), isActive))
    .orderBy(asc(agents.createdAt))
    .limit(1)
  return known?.id
}

/**
 * Returns the id of the user's agent `Claude Code (laptop)`, which it creates if there is none. Tokens of one name
 * whose program is not known may belong to different programs, so each gets an agent: `laptop`, `laptop 2`.
 */
export async function findOrCreateTokenAgent(
  ctx: Ctx,
  { organizationId, userId, token, client, isReplacement, isUsed }: TokenAgent,
): Promise<string> {
  let name = nameOf(client, token, 1)
  let known = await findTokenAgent(ctx, { organizationId, userId, name })
  const shared = known
  for (let n = 2; known && !client && (await isUsed?.(known)); n += 1) {
    name = nameOf(client, token, n)
    known = await findTokenAgent(ctx, { organizationId, userId, name })
  }
  if (known) return known
  // Where the plan has no room for another agent, the tokens share one.
  if (shared && !(await hasPlanRoom(ctx, organizationId, 'agents'))) return shared
  if (!isReplacement) await requirePlanRoom(ctx, organizationId, 'agents')
  const [made] = await ctx.db
    .insert(agents)
    .values({
      organizationId,
      createdById: userId,
      forId: userId,
      client,
      name,
      slug: `${slugify(name) || 'agent'}-${randomTail()}`,
      skills: [],
      memoryScope: 'project',
      scope: 'team',
      createdAt: ctx.now,
      updatedAt: ctx.now,
    })
    .returning({ id: agents.id, version: agents.version })
  if (!made) throw new Error('insert returned nothing')
  ctx.emit(agentCreated, { subjectId: made.id, organizationId, data: { name, version: made.version } })
  return made.id
}

/** Returns the person whose token the agent was created for; undefined for an agent that a person created. */
export async function personOfAgent({ db }: Ctx, agentId: string): Promise<{ id: string; name: string } | undefined> {
  const [person] = await db
    .select({ id: users.id, name: users.name })
    .from(agents)
    .innerJoin(users, eq(users.id, agents.forId))
    .where(eq(agents.id, agentId))
  return person
}

/**
 * Stores the program of a token's agent. Returns false if the agent was not made for this user's token, or has a
 * program already. Its name stays: others may have read it.
 */
export async function setAgentClient(
  ctx: Ctx,
  { id, userId, client }: { id: string; userId: string; client: string },
): Promise<boolean> {
  const [agent] = await ctx.db
    .update(agents)
    .set({ client, version: sql`${agents.version} + 1`, updatedAt: ctx.now })
    .where(and(eq(agents.id, id), eq(agents.forId, userId), isNull(agents.client), isNull(agents.deletedAt)))
    .returning({ name: agents.name, version: agents.version, organizationId: agents.organizationId })
  if (!agent) return false
  const { name, version, organizationId } = agent
  ctx.emit(agentUpdated, { subjectId: id, organizationId, data: { name, version, fields: ['client'] } })
  return true
}
