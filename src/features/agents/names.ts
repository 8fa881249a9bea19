import { and, eq, isNull } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { organizationsOf } from '../../auth/actor.ts'
import { rightsOf } from '../../auth/rights.ts'
import { AppError, invalid, notFound } from '../../errors.ts'
import { quoteName } from '../../text/quoting.ts'
import { editDistance, isSimilar } from '../../text/similarity.ts'
import { memberships } from '../organizations/table.ts'
import { users } from '../users/table.ts'
import { agentTokenNames } from './hooks.ts'
import { findAgentByReference, visibleTo } from './rows.ts'
import type { Agent } from './schema.ts'
import { agents } from './table.ts'

/**
 * Finds people and agents of a team by name: as results print it, by the name of an agent's token, or by a prefix that
 * only one of them has. Case, spaces, accents, hyphens and quotation marks are ignored. A caller who does not belong to
 * the team, or is limited to projects, needs the whole name, and errors tell them no other names.
 */
export interface NamedCandidate {
  readonly type: 'user' | 'agent'
  readonly id: string
  readonly name: string
  /** Of an agent. */
  readonly slug?: string
  /** Of an agent: the person it works for. */
  readonly person?: string | null
}

/** Names that are compared. In a larger team, people are found by e-mail address and agents by slug. */
const MOST_COMPARED = 5_000

export const memberCandidates = (ctx: Ctx, organizationId: string): Promise<NamedCandidate[]> =>
  ctx.db
    .select({ id: users.id, name: users.name })
    .from(memberships)
    .innerJoin(users, eq(users.id, memberships.userId))
    .where(and(eq(memberships.organizationId, organizationId), eq(users.status, 'active')))
    .limit(MOST_COMPARED)
    .then((rows) => rows.map((row) => ({ type: 'user', ...row })))

export const agentCandidates = (ctx: Ctx, organizationId: string): Promise<NamedCandidate[]> =>
  ctx.db
    .select({ id: agents.id, name: agents.name, slug: agents.slug, person: users.name })
    .from(agents)
    .leftJoin(users, eq(users.id, agents.forId))
    .where(
      and(
        eq(agents.organizationId, organizationId),
        eq(agents.status, 'active'),
        isNull(agents.deletedAt),
        visibleTo(rightsOf(ctx.actor)),
      ),
    )
    .limit(MOST_COMPARED)
    .then((rows) => rows.map((row) => ({ type: 'agent', ...row })))

/** Returns the letters and digits of a name, without accents and in lower case. */
const fold = (name: string): string =>
  name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '')

const namesOf = ({ name, slug, person }: NamedCandidate): string[] => [
  fold(name),
  ...(slug ? [fold(slug)] : []),
  ...(person ? [fold(`${name} for ${person}`)] : []),
]
/** The token of the agent `Claude Code (desk)` is called `desk`. */
const tokenIn = ({ name, person }: NamedCandidate): string | undefined =>
  person ? /\(([^()]+)\)$/.exec(name)?.[1] : undefined

const seesNames = ({ actor }: Ctx, organizationId: string): boolean =>
  actor.kind === 'system' || organizationsOf(actor).includes(organizationId)

/** Shortest prefix that is compared. */
const SHORTEST = 2

interface NameQuery {
  organizationId: string
  name: string
  /** `whole`: a prefix is not enough. */
  by?: 'whole'
}

/** Returns the only match, or undefined. Throws if there are several. */
export async function findByName(
  ctx: Ctx,
  list: readonly NamedCandidate[],
  { organizationId, name, by }: NameQuery,
): Promise<NamedCandidate | undefined> {
  const wanted = fold(name)
  if (wanted === '') return undefined
  const isOpen = seesNames(ctx, organizationId)
  const onlyOne = (found: readonly NamedCandidate[]) => onlyMatch(found, name, isOpen)
  const same = list.filter((one) => namesOf(one).includes(wanted))
  if (same.length > 0) return onlyOne(same)
  const ofToken = list.filter((one) => fold(tokenIn(one) ?? '') === wanted)
  if (ofToken.length > 0) return onlyOne(ofToken)
  const own = (await agentTokenNames.call(ctx, { organizationId }))
    .flat()
    .filter((token) => fold(token.name) === wanted)
  const ofOwn = list.filter(({ id }) => own.some(({ agentId }) => agentId === id))
  if (ofOwn.length > 0) return onlyOne(ofOwn)
  if (by === 'whole' || !isOpen || wanted.length < SHORTEST) return undefined
  const begun = list.filter((one) => namesOf(one).some((known) => known.startsWith(wanted)))
  return begun.length > 0 ? onlyOne(begun) : undefined
}

/** Returns everyone with this name; if nobody has it, everyone whose name begins with it. */
export function findAllByName(
  ctx: Ctx,
  list: readonly NamedCandidate[],
  { organizationId, name }: Omit<NameQuery, 'by'>,
): NamedCandidate[] {
  const wanted = fold(name)
  if (wanted === '') return []
  const same = list.filter((one) => namesOf(one).includes(wanted))
  if (same.length > 0 || wanted.length < SHORTEST || !seesNames(ctx, organizationId)) return same
  return list.filter((one) => namesOf(one).some((known) => known.startsWith(wanted)))
}

const MOST_NAMED = 5
/** In a larger team, finding similar names would take too long. */
const MOST_SUGGESTED = 1_000

function onlyMatch(found: readonly NamedCandidate[], name: string, isOpen: boolean): NamedCandidate | undefined {
  if (found.length === 1) return found[0]
  if (!isOpen)
    throw invalid(
      '/assignee',
      `Several people or agents are called ${quoteName(name)}. Use an e-mail address or a slug.`,
      'ambiguous',
    )
  // A member's name does not tell them apart if another match has the same name.
  const alike = Map.groupBy(found, (one) => fold(one.name))
  const isUnclear = found.some(({ type, name }) => type === 'user' && (alike.get(fold(name))?.length ?? 0) > 1)
  const advice = isUnclear ? "the member's e-mail address or the agent's slug" : 'one of these'
  const names = found.slice(0, MOST_NAMED).map((one) => one.slug ?? `${quoteName(one.name)} (member)`)
  const more = found.length > MOST_NAMED ? ` and ${found.length - MOST_NAMED} more` : ''
  throw invalid('/assignee', `${quoteName(name)} could be ${names.join(', ')}${more}. Use ${advice}.`, 'ambiguous')
}

/** Returns the error for a name that does not exist, with similar names. */
export function unknownNameError(
  ctx: Ctx,
  list: readonly NamedCandidate[],
  { organizationId, name }: Pick<NameQuery, 'organizationId' | 'name'>,
): AppError {
  const missing = notFound('party', name)
  const isOpen = seesNames(ctx, organizationId) && list.length <= MOST_SUGGESTED
  const near = isOpen ? list.filter((one) => isSimilar(name, one.name)) : []
  const nearest = near.toSorted((a, b) => editDistance(a.name, name) - editDistance(b.name, name)).slice(0, 3)
  if (nearest.length === 0) return missing
  const names = nearest.map((one) => quoteName(one.name)).join(' or ')
  return new AppError('not_found', `${missing.message} Did you mean ${names}?`, missing.details)
}

/** For `catch`: returns undefined for `not_found` and throws every other error. */
export function undefinedIfNotFound(error: unknown): undefined {
  if (!(error instanceof AppError && error.code === 'not_found')) throw error
}

/** Finds an agent by id, slug or the unique beginning of its id, `me`, or an agent of the team by its name. */
export async function findVisibleAgent(ctx: Ctx, ref: string, by?: 'whole'): Promise<Agent> {
  const { agent, organizationId } = ctx.actor
  if (agent && ref.trim().toLowerCase() === 'me') return findAgentByReference(ctx, agent.id)
  const known = await findAgentByReference(ctx, ref).catch(undefinedIfNotFound)
  if (known) return known
  const called =
    organizationId &&
    (await findByName(ctx, await agentCandidates(ctx, organizationId), { organizationId, name: ref, by }))
  if (!called) throw notFound('agent', ref)
  return findAgentByReference(ctx, called.id)
}
