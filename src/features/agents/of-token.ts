import { and, asc, eq, isNull } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { randomTail } from '../../auth/secrets.ts'
import { slugify } from '../../text/text.ts'
import { planUsage } from '../organizations/hooks.ts'
import { requirePlanRoom } from '../organizations/plans.ts'
import { users } from '../users/table.ts'
import { agentCreated, agentUpdated } from './events.ts'
import { agents } from './table.ts'

/** The agents that MCP tokens get by themselves: who did something is named by where it runs, and for whom. */

const NAME_LENGTH = 100
/** Stands for a program that is not known yet. */
const UNKNOWN = 'Agent'
/** The name was not chosen by a person, and does not tell the program. */
export const isUnknown = ({ name }: { name: string }): boolean => name.startsWith(`${UNKNOWN} (`)
const nameOf = (client: string | undefined, token: string): string =>
  `${client ?? UNKNOWN} (${token})`.slice(0, NAME_LENGTH)

const isActive = and(eq(agents.status, 'active'), isNull(agents.deletedAt))

/** Counts the agents of a team that can work. */
export const countForPlan = planUsage.handle((ctx, { organizationId, limit }) =>
  limit === 'agents' ? ctx.db.$count(agents, and(eq(agents.organizationId, organizationId), isActive)) : 0,
)

interface Wanted {
  organizationId: string
  /** The user whose token it is. */
  userId: string
  /** The name of the token. */
  token: string
  /** The program that uses it, if known. */
  client?: string
  /** For a token whose agent was deleted. It must have one, so the limits of the plan do not count. */
  isReplacement?: true
}

/** Returns the id of the user's agent `Claude Code (laptop)`, which it creates if there is none. */
export async function agentOfToken(
  ctx: Ctx,
  { organizationId, userId, token, client, isReplacement }: Wanted,
): Promise<string> {
  const name = nameOf(client, token)
  const [known] = await ctx.db
    .select({ id: agents.id })
    .from(agents)
    .where(
      and(
        eq(agents.forId, userId),
        eq(agents.organizationId, organizationId),
        eq(agents.name, name),
        eq(agents.status, 'active'),
        isNull(agents.deletedAt),
      ),
    )
    .orderBy(asc(agents.createdAt))
    .limit(1)
  if (known) return known.id
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

/** Returns the person whose token the agent was created for; undefined for an agent that somebody created. */
export async function personOf({ db }: Ctx, agentId: string): Promise<{ id: string; name: string } | undefined> {
  const [person] = await db
    .select({ id: users.id, name: users.name })
    .from(agents)
    .innerJoin(users, eq(users.id, agents.forId))
    .where(eq(agents.id, agentId))
  return person
}

/**
 * Names the program of a token's agent. Returns false if the agent was not made for this user's token, or has a
 * program already. A name that a person gave to it stays.
 */
export async function nameProgram(
  ctx: Ctx,
  { id, userId, client }: { id: string; userId: string; client: string },
): Promise<boolean> {
  const [agent] = await ctx.db
    .select({ name: agents.name, version: agents.version, organizationId: agents.organizationId })
    .from(agents)
    .where(and(eq(agents.id, id), eq(agents.forId, userId), isNull(agents.client), isNull(agents.deletedAt)))
    .for('update')
  if (!agent) return false
  const name = isUnknown(agent) ? `${client}${agent.name.slice(UNKNOWN.length)}`.slice(0, NAME_LENGTH) : agent.name
  const version = agent.version + 1
  await ctx.db.update(agents).set({ client, name, version, updatedAt: ctx.now }).where(eq(agents.id, id))
  ctx.emit(agentUpdated, {
    subjectId: id,
    organizationId: agent.organizationId,
    data: { name, version, fields: ['client', 'name'] },
  })
  return true
}
