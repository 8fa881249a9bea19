import { and, eq, isNull, type SQL, sql } from 'drizzle-orm'
import type { PgColumn } from 'drizzle-orm/pg-core'
import type { Ctx } from '../../action.ts'
import { currentOrganization, selvesOf, userIdOf } from '../../auth/actor.ts'
import { rightsOf } from '../../auth/rights.ts'
import { AppError, invalid, notFound } from '../../errors.ts'
import { isId } from '../../records/rows.ts'
import { named } from '../../text/quoted.ts'
import { visibleText } from '../../text/text.ts'
import { memberships } from '../organizations/table.ts'
import { readersOf } from '../projects/readers.ts'
import type { Project } from '../projects/schema.ts'
import { users } from '../users/table.ts'
import { personOf } from './of-token.ts'
import * as agents from './service.ts'
import { agents as agentTable } from './table.ts'

/** A person or agent as assignee, holder or author. This file is the only place that finds them. */
export interface Party {
  type: 'user' | 'agent'
  id: string
  name: string
  client?: string
  for?: { id: string | null; name: string }
}

/** A team, or one of its projects. The named person or agent must be able to see it. */
type PartyScope = Pick<Project, 'organizationId'> & {
  id?: string
  /** For lists: archived agents have worked on tasks too. By name only active agents are found. */
  includeArchived?: boolean
}

/** Finds `me`, a member of the team by id, e-mail or name, or an agent by id, slug, prefix or name. */
export async function findParty(ctx: Ctx, place: PartyScope, ref: string): Promise<Party> {
  const wanted = ref.trim()
  if (wanted.toLowerCase() === 'me') return speaker(ctx)
  const isEmail = wanted.includes('@')
  if (isEmail || isId(wanted)) {
    const is = isEmail ? sql`lower(${users.email}) = ${wanted.toLowerCase()}` : eq(users.id, wanted.toLowerCase())
    const [user] = await membersWho(ctx, place, is)
    if (user) return assignable(ctx, place, user)
  }
  if (isEmail) throw notFound('member', wanted)
  const agent = await findAgentAndHow(ctx, place, wanted).catch(ifMissing)
  if (agent?.by === 'ref') return agent.party
  const people = await membersWho(ctx, place, isCalled(users.name, wanted))
  const [user] = people
  if (agent && user)
    throw invalid(
      '/assignee',
      `A member and an agent are called ${wanted}: use the member's e-mail address or the agent's slug.`,
    )
  if (agent) return agent.party
  if (!user) throw notFound('party', wanted)
  if (people.length > 1) throw invalid('/assignee', `Several members are called ${wanted}: use an e-mail address.`)
  return assignable(ctx, place, user)
}

/** For `catch`: returns undefined for `not_found` and throws every other error. */
function ifMissing(error: unknown): undefined {
  if (!(error instanceof AppError && error.code === 'not_found')) throw error
}

type User = Pick<Party, 'id' | 'name'>

const membersWho = (ctx: Ctx, { organizationId }: PartyScope, is: SQL): Promise<User[]> =>
  ctx.db
    .select({ id: users.id, name: users.name })
    .from(memberships)
    .innerJoin(users, eq(users.id, memberships.userId))
    .where(and(eq(memberships.organizationId, organizationId), eq(users.status, 'active'), is))
    .limit(2)

async function assignable(ctx: Ctx, place: PartyScope, { id, name }: User): Promise<Party> {
  if (place.id && (await readersOf(ctx, place.id, [id])).length === 0)
    throw invalid('/assignee', 'This project is private, and the assignee cannot see it. Share it with the team first.')
  return { type: 'user', id, name }
}

/** Compares names without markup and quotation marks, as results of tools print them. */
const isCalled = (name: PgColumn, wanted: string): SQL =>
  sql`lower(regexp_replace(regexp_replace(${name}, '[][(){}<>#*\`«»‹›]', '', 'g'), '\\s+', ' ', 'g'))
    = ${withoutMarkup(wanted).toLowerCase()}`

const withoutMarkup = (name: string): string =>
  visibleText(name)
    .replace(/[[\](){}<>#*`«»‹›]/g, '')
    .replace(/\s+/g, ' ')
    .trim()

/** Returns the ids to filter a list of tasks by: `me` is an agent and the person it works for. */
export const selvesFor = async (ctx: Ctx, organizationId: string, ref: string): Promise<string[]> =>
  ref.trim().toLowerCase() === 'me'
    ? selvesOf(ctx.actor)
    : [(await findParty(ctx, { organizationId, includeArchived: true }, ref)).id]

/**
 * Returns the id of the agent to filter a list by. An id is looked up only with `mustExist`, as tools want it;
 * otherwise the list's own rule hides what is not visible.
 */
export async function agentFilter(ctx: Ctx, ref: string | undefined, mustExist = false): Promise<string | undefined> {
  if (ref === undefined || (isId(ref) && !mustExist)) return ref
  return (await findAgent(ctx, currentOrganization(ctx.actor), ref)).id
}

/** Finds an active agent of this team, or a public one. By name it finds only an agent of the team. */
export const findAgent = async (ctx: Ctx, organizationId: string, ref: string): Promise<Party> =>
  (await findAgentAndHow(ctx, { organizationId }, ref)).party

/** Also returns whether the agent was found by its id, slug or prefix (`ref`), or only by its name. */
async function findAgentAndHow(
  ctx: Ctx,
  { organizationId, includeArchived = false }: PartyScope,
  ref: string,
): Promise<{ party: Party; by: 'ref' | 'name' }> {
  const known = await agents.find(ctx, ref).catch(ifMissing)
  const agent = known ?? (await agents.find(ctx, await idOfNamed(ctx, organizationId, ref)))
  if (agent.scope !== 'public' && agent.organizationId !== organizationId)
    throw invalid('/agent', "This agent does not belong to the project's team. Share it with the team first.")
  if (agent.status === 'archived' && !includeArchived) throw invalid('/agent', 'This agent is archived.')
  return { party: { type: 'agent', id: agent.id, name: agent.name }, by: known ? 'ref' : 'name' }
}

async function idOfNamed(ctx: Ctx, organizationId: string, name: string): Promise<string> {
  const [found, another] = await ctx.db
    .select({ id: agentTable.id })
    .from(agentTable)
    .where(
      and(
        eq(agentTable.organizationId, organizationId),
        eq(agentTable.status, 'active'),
        isNull(agentTable.deletedAt),
        isCalled(agentTable.name, name),
        agents.visibleTo(rightsOf(ctx.actor)),
      ),
    )
    .limit(2)
  if (another) throw invalid('/agent', `Several agents are called ${name}: use a slug.`)
  if (!found) throw notFound('party', name)
  return found.id
}

/**
 * Finds an agent that the caller may work as: one that people created, or one of the caller's own tokens. Nobody works
 * as the agent of another person's token, which would make them the holder of that person's tasks.
 */
export async function findOwnAgent(
  ctx: Ctx,
  organizationId: string,
  ref: string,
): Promise<Party & { isOfToken: boolean }> {
  const agent = await findAgent(ctx, organizationId, ref)
  const person = await personOf(ctx, agent.id)
  if (person && person.id !== ctx.actor.userId)
    throw new AppError(
      'forbidden',
      `${named(agent.name)} works for ${named(person.name)}: you cannot work as that agent.`,
    )
  return { ...agent, isOfToken: person !== undefined }
}

/** Returns the caller: the agent that the call or its token names, else the user. */
export function speaker({ actor }: Pick<Ctx, 'actor'>): Party {
  const { agent, userId, name } = actor
  if (agent)
    return {
      type: 'agent',
      id: agent.id,
      name: agent.name,
      ...(agent.client !== undefined && { client: agent.client }),
      ...(userId !== null && { for: { id: userId, name } }),
    }
  return { type: 'user', id: userIdOf(actor), name }
}

export const sameParty = (a: { type: string; id: string | null }, b: { type: string; id: string | null }): boolean =>
  a.type === b.type && a.id === b.id
