import { and, eq, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { currentOrganization, ownIds, userIdOf } from '../../auth/actor.ts'
import { AppError, invalid, notFound } from '../../errors.ts'
import { isId } from '../../records/reference.ts'
import { quoteName } from '../../text/quoting.ts'
import { memberships } from '../organizations/table.ts'
import { readersOf } from '../projects/readers.ts'
import type { Project } from '../projects/schema.ts'
import { users } from '../users/table.ts'
import { agentCandidates, findByName, memberCandidates, undefinedIfNotFound, unknownNameError } from './names.ts'
import { findAgentByReference } from './rows.ts'
import type { Agent } from './schema.ts'
import { personOfAgent } from './token-agents.ts'

/** A person or agent as assignee, holder or author. */
export interface KnownUserOrAgent {
  type: 'user' | 'agent'
  id: string
  name: string
  client?: string
  for?: { id: string | null; name: string }
}

/** A team, or one of its projects. The named person or agent must be able to see it. */
type SearchPlace = Pick<Project, 'organizationId'> & {
  id?: string
  /** For lists: archived agents have worked on tasks too. By name only active agents are found. */
  includeArchived?: boolean
}

/** Finds `me`, a member of the team by id, e-mail or name, or an agent by id, slug, prefix or name (`names.ts`). */
export async function findUserOrAgent(ctx: Ctx, place: SearchPlace, ref: string): Promise<KnownUserOrAgent> {
  const { organizationId } = place
  const wanted = ref.trim()
  if (wanted.toLowerCase() === 'me') return currentUserOrAgent(ctx)
  const isEmail = wanted.includes('@')
  const [user] = isEmail || isId(wanted) ? await findMember(ctx, organizationId, wanted) : []
  if (user) return asAssignee(ctx, place, user)
  if (isEmail) throw notFound('member', wanted)
  const agent = await findAgentByReference(ctx, wanted).catch(undefinedIfNotFound)
  if (agent) return asUsableAgent(agent, place)
  const list = [...(await memberCandidates(ctx, organizationId)), ...(await agentCandidates(ctx, organizationId))]
  const found = await findByName(ctx, list, { organizationId, name: wanted })
  if (!found) throw unknownNameError(ctx, list, { organizationId, name: wanted })
  const { type, id, name } = found
  return type === 'agent' ? { type, id, name } : asAssignee(ctx, place, found)
}

type User = Pick<KnownUserOrAgent, 'id' | 'name'>

/** Finds a member of the team by e-mail address or id. */
const findMember = (ctx: Ctx, organizationId: string, ref: string): Promise<User[]> =>
  ctx.db
    .select({ id: users.id, name: users.name })
    .from(memberships)
    .innerJoin(users, eq(users.id, memberships.userId))
    .where(
      and(
        eq(memberships.organizationId, organizationId),
        eq(users.status, 'active'),
        ref.includes('@') ? sql`lower(${users.email}) = ${ref.toLowerCase()}` : eq(users.id, ref.toLowerCase()),
      ),
    )

async function asAssignee(ctx: Ctx, place: SearchPlace, { id, name }: User): Promise<KnownUserOrAgent> {
  if (place.id && (await readersOf(ctx, place.id, [id])).length === 0)
    throw invalid('/assignee', 'This project is private, and the assignee cannot see it. Share it with the team first.')
  return { type: 'user', id, name }
}

/** Returns the ids to filter a list of tasks by: `me` stands for an agent and the person it works for. */
export const idsToFilterBy = async (ctx: Ctx, organizationId: string, ref: string): Promise<string[]> =>
  ref.trim().toLowerCase() === 'me'
    ? ownIds(ctx.actor)
    : [(await findUserOrAgent(ctx, { organizationId, includeArchived: true }, ref)).id]

/**
 * Returns the id of the agent to filter a list by. An id is looked up only with `mustExist`, which tools set; otherwise
 * the list itself leaves out what is not visible.
 */
export async function agentFilter(ctx: Ctx, ref: string | undefined, mustExist = false): Promise<string | undefined> {
  if (ref === undefined || (isId(ref) && !mustExist)) return ref
  return (await findAgent(ctx, currentOrganization(ctx.actor), ref)).id
}

/** Finds an active agent of this team, or a public one. By name it finds only an agent of the team. */
export async function findAgent(
  ctx: Ctx,
  organizationId: string,
  ref: string,
  by?: 'whole',
): Promise<KnownUserOrAgent> {
  const { agent } = ctx.actor
  const known = await findAgentByReference(ctx, agent && ref.trim().toLowerCase() === 'me' ? agent.id : ref).catch(
    undefinedIfNotFound,
  )
  if (known) return asUsableAgent(known, { organizationId })
  const list = await agentCandidates(ctx, organizationId)
  const found = await findByName(ctx, list, { organizationId, name: ref, by })
  if (!found) throw unknownNameError(ctx, list, { organizationId, name: ref })
  return { type: 'agent', id: found.id, name: found.name }
}

/** Throws if the agent is archived, or belongs to another team and is not public. */
function asUsableAgent(agent: Agent, { organizationId, includeArchived }: SearchPlace): KnownUserOrAgent {
  if (agent.scope !== 'public' && agent.organizationId !== organizationId)
    throw invalid('/agent', "This agent does not belong to the project's team. Share it with the team first.")
  if (agent.status === 'archived' && !includeArchived)
    throw invalid('/agent', 'This agent is archived. Set its status to active first.')
  return { type: 'agent', id: agent.id, name: agent.name }
}

/**
 * Finds an agent that the caller may work as: one that people created, or one of the caller's own tokens. No one works
 * as the agent of another person's token, which would make them the holder of that person's tasks.
 */
export async function findOwnAgent(
  ctx: Ctx,
  organizationId: string,
  ref: string,
): Promise<KnownUserOrAgent & { isOfToken: boolean }> {
  const agent = await findAgent(ctx, organizationId, ref, 'whole')
  const person = await personOfAgent(ctx, agent.id)
  if (person && person.id !== ctx.actor.userId)
    throw new AppError(
      'forbidden',
      `${quoteName(agent.name)} works for ${quoteName(person.name)}, so you cannot work as this agent.`,
    )
  return { ...agent, isOfToken: person !== undefined }
}

/** Returns the caller: the agent that the call or its token names, else the user. */
export function currentUserOrAgent({ actor }: Pick<Ctx, 'actor'>): KnownUserOrAgent {
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

export const isSameUserOrAgent = (
  a: { type: string; id: string | null },
  b: { type: string; id: string | null },
): boolean => a.type === b.type && a.id === b.id
