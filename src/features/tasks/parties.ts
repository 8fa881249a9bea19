import { and, eq, isNull, or, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { notFound } from '../../errors.ts'
import { users } from '../accounts/table.ts'
import { agents } from '../agents/table.ts'
import { memberships } from '../organizations/table.ts'
import type { Party } from './schema.ts'

/** People and agents as assignees, holders and authors. */
export interface Known {
  type: 'user' | 'agent'
  id: string
  name: string
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** `me`, a member of the organization by id or e-mail, or one of its agents by id or slug. */
export async function resolveParty(ctx: Ctx, organizationId: string, ref: string): Promise<Known> {
  const given = ref.trim()
  if (given === 'me') return speaker(ctx)
  const isId = uuid.test(given)
  if (isId || given.includes('@')) {
    const [user] = await ctx.db
      .select({ id: users.id, name: users.name })
      .from(users)
      .innerJoin(memberships, and(eq(memberships.userId, users.id), eq(memberships.organizationId, organizationId)))
      .where(isId ? eq(users.id, given.toLowerCase()) : eq(sql`lower(${users.email})`, given.toLowerCase()))
    if (user) return { type: 'user', ...user }
  }
  return findAgent(ctx, organizationId, given)
}

export async function findAgent(ctx: Ctx, organizationId: string, ref: string): Promise<Known> {
  const [agent] = await ctx.db
    .select({ id: agents.id, name: agents.name })
    .from(agents)
    .where(
      and(
        uuid.test(ref) ? eq(agents.id, ref.toLowerCase()) : eq(agents.slug, ref.toLowerCase()),
        isNull(agents.deletedAt),
        or(eq(agents.organizationId, organizationId), and(isNull(agents.organizationId), eq(agents.createdById, userIdOf(ctx.actor)))),
      ),
    )
  if (!agent) throw notFound('member or agent', ref)
  return { type: 'agent', ...agent }
}

/** Who speaks: the agent that the call or its token names, else the user. */
export function speaker({ actor }: Pick<Ctx, 'actor'>): Known {
  return actor.agent ? { type: 'agent', ...actor.agent } : { type: 'user', id: userIdOf(actor), name: actor.name }
}

export const sameParty = (a: Pick<Party, 'type' | 'id'>, b: Pick<Party, 'type' | 'id'>): boolean => a.type === b.type && a.id === b.id
