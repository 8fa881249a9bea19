import { type Placeholder, type SQL, sql } from 'drizzle-orm'
import { type IdList, idList } from '../db/columns.ts'
import { type Actor, membershipsWith, NO_USER_ID, organizationsOf, seesPersonal } from './actor.ts'

/** The caller's rights as values for the WHERE clause of a query. */
export interface Rights {
  user: string | Placeholder | SQL
  /** Whose personal records are visible: none for a credential that is bound to another organization. */
  personal: string | Placeholder | SQL
  /** Organizations whose records without a project are visible: none for a credential that is limited to projects. */
  organizations: IdList
  /** The only projects that are visible, for a credential that is limited to projects; otherwise empty. */
  projects: IdList
  /** `true` for a credential that is limited to projects. */
  limited: string | Placeholder | SQL
  /** The agent that calls, for a credential that is limited to projects: it sees no other. */
  agent: string | Placeholder | SQL
  /** The caller's organizations, and those that share a workspace with them. */
  reach: IdList
  workspaces: IdList
  /** Organizations in which the caller is owner or admin. */
  managed: IdList
}

type Values = { readonly [K in keyof Rights]: string }
/** Cached: an actor never changes, and every statement of a call needs these. */
const known = new WeakMap<Actor, Values>()

export function rightsOf(actor: Actor): Values {
  const found = known.get(actor)
  if (found) return found
  const values: Values = {
    user: actor.userId ?? NO_USER_ID,
    personal: (seesPersonal(actor) && actor.userId) || NO_USER_ID,
    organizations: idList(organizationsOf(actor)),
    projects: idList(actor.projects ?? []),
    limited: String(actor.projects !== undefined),
    agent: (actor.projects && actor.agent?.id) || NO_USER_ID,
    reach: idList([...actor.memberships.keys(), ...actor.reach]),
    workspaces: idList([...actor.workspaces.keys()]),
    managed: idList(membershipsWith(actor, 'admin')),
  }
  known.set(actor, values)
  return values
}

/** For prepared queries, which receive `rightsOf(actor)` with every run. */
export const anyRights: Rights = {
  user: sql.placeholder('user'),
  personal: sql.placeholder('personal'),
  organizations: sql.placeholder('organizations'),
  projects: sql.placeholder('projects'),
  limited: sql.placeholder('limited'),
  agent: sql.placeholder('agent'),
  reach: sql.placeholder('reach'),
  workspaces: sql.placeholder('workspaces'),
  managed: sql.placeholder('managed'),
}
