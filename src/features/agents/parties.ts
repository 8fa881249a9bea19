import { and, eq, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { currentOrganization, userIdOf } from '../../auth/actor.ts'
import { AppError, invalid, notFound } from '../../errors.ts'
import { isId } from '../../records/rows.ts'
import { memberships } from '../organizations/table.ts'
import { readersOf } from '../projects/readers.ts'
import type { Project } from '../projects/schema.ts'
import { users } from '../users/table.ts'
import * as agents from './service.ts'

/** A person or agent as assignee, holder or author. This file is the only place that finds them. */
export interface Party {
  type: 'user' | 'agent'
  id: string
  name: string
}

/** A team, or one of its projects. The named person or agent must be able to see it. */
type PartyScope = Pick<Project, 'organizationId'> & { id?: string }

/** Finds `me`, a member of the team by id or e-mail, or an agent by id, slug or prefix. */
export async function findParty(ctx: Ctx, place: PartyScope, ref: string): Promise<Party> {
  const wanted = ref.trim()
  if (wanted.toLowerCase() === 'me') return speaker(ctx)
  const isEmail = wanted.includes('@')
  if (isEmail || isId(wanted)) {
    const [user] = await ctx.db
      .select({ id: users.id, name: users.name })
      .from(memberships)
      .innerJoin(users, eq(users.id, memberships.userId))
      .where(
        and(
          eq(memberships.organizationId, place.organizationId),
          eq(users.status, 'active'),
          isEmail ? sql`lower(${users.email}) = ${wanted.toLowerCase()}` : eq(users.id, wanted.toLowerCase()),
        ),
      )
    if (user) {
      if (place.id && (await readersOf(ctx, place.id, [user.id])).length === 0)
        throw invalid(
          '/assignee',
          'This project is private, and the assignee cannot see it. Share it with the team first.',
        )
      return { type: 'user', id: user.id, name: user.name }
    }
  }
  if (isEmail) throw notFound('member', wanted)
  return findAgent(ctx, place.organizationId, wanted)
}

/**
 * Returns the id of the agent to filter a list by. An id is looked up only with `mustExist`, as tools want it;
 * otherwise the list's own rule hides what is not visible.
 */
export async function agentFilter(ctx: Ctx, ref: string | undefined, mustExist = false): Promise<string | undefined> {
  if (ref === undefined || (isId(ref) && !mustExist)) return ref
  return (await findAgent(ctx, currentOrganization(ctx.actor), ref)).id
}

/** Finds an active agent of this team, or a public one. */
export async function findAgent(ctx: Ctx, organizationId: string, ref: string): Promise<Party> {
  const agent = await agents.find(ctx, ref).catch((error: unknown) => {
    throw error instanceof AppError && error.code === 'not_found' ? notFound('party', ref) : error
  })
  if (agent.scope !== 'public' && agent.organizationId !== organizationId)
    throw invalid('/agent', "This agent does not belong to the project's team. Share it with the team first.")
  if (agent.status === 'archived') throw invalid('/agent', 'This agent is archived.')
  return { type: 'agent', id: agent.id, name: agent.name }
}

/** Returns the caller: the agent that the call or its token names, else the user. */
export function speaker({ actor }: Pick<Ctx, 'actor'>): Party {
  return actor.agent ? { type: 'agent', ...actor.agent } : { type: 'user', id: userIdOf(actor), name: actor.name }
}

export const sameParty = (a: { type: string; id: string | null }, b: { type: string; id: string | null }): boolean =>
  a.type === b.type && a.id === b.id
