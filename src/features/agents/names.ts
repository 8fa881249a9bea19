import { and, eq, isNull } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { organizationsOf } from '../../auth/actor.ts'
import { rightsOf } from '../../auth/rights.ts'
import { AppError, invalid, notFound } from '../../errors.ts'
import { distance, isNear } from '../../text/near.ts'
import { named } from '../../text/quoted.ts'
import { memberships } from '../organizations/table.ts'
import { users } from '../users/table.ts'
import { agentTokenNames } from './hooks.ts'
import { findByReference, visibleTo } from './rows.ts'
import type { Agent } from './schema.ts'
import { agents } from './table.ts'

/**
 * Finds people and agents of a team by name: as results print it, by the name of an agent's token, or by a prefix that
 * only one of them has. Case, spaces, accents, hyphens and quotation marks are ignored. A caller who does not belong to
 * the team, or is limited to projects, needs the whole name, and errors tell them no other names.
 */
export interface Called {
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

export const membersOf = (ctx: Ctx, organizationId: string): Promise<Called[]> =>
  ctx.db
    .select({ id: users.id, name: users.name })
    .from(memberships)
    .innerJoin(users, eq(users.id, memberships.userId))
    .where(and(eq(memberships.organizationId, organizationId), eq(users.status, 'active')))
    .limit(MOST_COMPARED)
    .then((rows) => rows.map((row) => ({ type: 'user', ...row })))

export const agentsOf = (ctx: Ctx, organizationId: string): Promise<Called[]> =>
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

const namesOf = ({ name, slug, person }: Called): string[] => [
  fold(name),
  ...(slug ? [fold(slug)] : []),
  ...(person ? [fold(`${name} for ${person}`)] : []),
]
/** The token of the agent `Claude Code (desk)` is called `desk`. */
const tokenIn = ({ name, person }: Called): string | undefined => (person ? /\(([^()]+)\)$/.exec(name)?.[1] : undefined)

const seesNames = ({ actor }: Ctx, organizationId: string): boolean =>
  actor.kind === 'system' || organizationsOf(actor).includes(organizationId)

/** Shortest prefix that is compared. */
const SHORTEST = 2

interface Wanted {
  organizationId: string
  name: string
  /** `whole`: a prefix is not enough. */
  by?: 'whole'
}

/** Returns the only match, or undefined. Throws if there are several. */
export async function findNamed(
  ctx: Ctx,
  list: readonly Called[],
  { organizationId, name, by }: Wanted,
): Promise<Called | undefined> {
  const wanted = fold(name)
  if (wanted === '') return undefined
  const isOpen = seesNames(ctx, organizationId)
  const onlyOne = (found: readonly Called[]) => theOnly(found, name, isOpen)
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

const MOST_NAMED = 5
/** In a larger team, finding similar names would take too long. */
const MOST_SUGGESTED = 1_000

function theOnly(found: readonly Called[], name: string, isOpen: boolean): Called | undefined {
  if (found.length === 1) return found[0]
  if (!isOpen)
    throw invalid(
      '/assignee',
      `Several people or agents are called ${named(name)}. Use an e-mail address or a slug.`,
      'ambiguous',
    )
  // A member's name does not tell them apart if another match has the same name.
  const alike = Map.groupBy(found, (one) => fold(one.name))
  const isUnclear = found.some(({ type, name }) => type === 'user' && (alike.get(fold(name))?.length ?? 0) > 1)
  const advice = isUnclear ? "the member's e-mail address or the agent's slug" : 'one of these'
  const names = found.slice(0, MOST_NAMED).map((one) => one.slug ?? `${named(one.name)} (member)`)
  const more = found.length > MOST_NAMED ? ` and ${found.length - MOST_NAMED} more` : ''
  throw invalid('/assignee', `${named(name)} could be ${names.join(', ')}${more}. Use ${advice}.`, 'ambiguous')
}

/** Returns the error for a name that does not exist, with similar names. */
export function nobodyCalled(
  ctx: Ctx,
  list: readonly Called[],
  { organizationId, name }: Pick<Wanted, 'organizationId' | 'name'>,
): AppError {
  const missing = notFound('party', name)
  const isOpen = seesNames(ctx, organizationId) && list.length <= MOST_SUGGESTED
  const near = isOpen ? list.filter((one) => isNear(name, one.name)) : []
  const nearest = near.toSorted((a, b) => distance(a.name, name) - distance(b.name, name)).slice(0, 3)
  if (nearest.length === 0) return missing
  const names = nearest.map((one) => named(one.name)).join(' or ')
  return new AppError('not_found', `${missing.message} Did you mean ${names}?`, missing.details)
}

/** For `catch`: returns undefined for `not_found` and throws every other error. */
export function ifMissing(error: unknown): undefined {
  if (!(error instanceof AppError && error.code === 'not_found')) throw error
}

/** Finds an agent by id, slug or the unique beginning of its id, `me`, or an agent of the team by its name. */
export async function findVisibleAgent(ctx: Ctx, ref: string, by?: 'whole'): Promise<Agent> {
  const { agent, organizationId } = ctx.actor
  if (agent && ref.trim().toLowerCase() === 'me') return findByReference(ctx, agent.id)
  const known = await findByReference(ctx, ref).catch(ifMissing)
  if (known) return known
  const called =
    organizationId && (await findNamed(ctx, await agentsOf(ctx, organizationId), { organizationId, name: ref, by }))
  if (!called) throw notFound('agent', ref)
  return findByReference(ctx, called.id)
}
