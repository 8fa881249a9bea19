import { type Placeholder, type SQL, sql } from 'drizzle-orm'
import { type IdList, idList } from '../db/columns.ts'
import { type Actor, nobody, organizationsOf, seesPersonal } from './actor.ts'

/** What the WHERE clause of a query needs to know about the caller. */
export interface Rights {
  user: string | Placeholder | SQL
  /** Whose personal records are visible: none for a credential that is bound to another organization. */
  personal: string | Placeholder | SQL
  organizations: IdList
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
    user: actor.userId ?? nobody,
    personal: (seesPersonal(actor) && actor.userId) || nobody,
    organizations: idList(organizationsOf(actor)),
    reach: idList([...actor.memberships.keys(), ...actor.reach]),
    workspaces: idList([...actor.workspaces.keys()]),
    managed: idList(organizationsOf(actor, 'admin')),
  }
  known.set(actor, values)
  return values
}

/** For prepared queries, which receive `rightsOf(actor)` with every run. */
export const anyRights: Rights = {
  user: sql.placeholder('user'),
  personal: sql.placeholder('personal'),
  organizations: sql.placeholder('organizations'),
  reach: sql.placeholder('reach'),
  workspaces: sql.placeholder('workspaces'),
  managed: sql.placeholder('managed'),
}
