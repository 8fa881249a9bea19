import type { Driver } from '../db/driver.ts'
import type { Via } from './actor.ts'
import { bearerHashes } from './secrets.ts'

/** One statement per kind of credential: it reads the user and all their rights in one round trip. */

export interface PersonRow {
  user_id: string
  user_name: string
  is_admin: boolean
  status: string
  /** The organization that the user chose as current. */
  preferred: string | null
  /** JSON: `[organization, role]`, in the order in which they joined. */
  memberships: string
}

export interface CredentialRow extends PersonRow {
  credential_id: string
  expires_at: string
  revoked_at: string | null
}

interface Shared {
  /** JSON: `[workspace, the team's role, the team, all teams in it]`. */
  shared: string
}

export interface SessionRow extends CredentialRow, Shared {
  via: Via
  authenticated_at: string | null
  impersonator_id: string | null
}

export interface KeyRow extends CredentialRow, Shared {
  scopes: string
  /** The only organization that the key may access, if it is bound to one. */
  organization_id: string | null
  /** The only projects that the key sees, if it is limited. */
  projects: string | null
}

export interface TokenRow extends CredentialRow {
  /** A program got it by sign-in: its credential is the permission that it belongs to. */
  granted: boolean
  scopes: string
  organization_id: string
  toolsets: string
  project_id: string | null
  /** The only projects that the token sees, if it is limited. */
  projects: string | null
  /** The organization whose memberships count: for a sandbox, its parent. */
  member_of: string
  /** The organization is the own space of the token's user. */
  own_space: boolean
  agent_id: string | null
  agent_name: string | null
  agent_client: string | null
  /** The agent was made for a token of the same user. */
  agent_for_user: boolean
}

export interface TunnelRow extends CredentialRow {
  tunnel_id: string
  organization_id: string
}

const person = `u.id as user_id, u.name as user_name, u.role = 'admin' as is_admin, u.status,
  u.preferences->>'currentOrganizationId' as preferred,
  coalesce((select json_agg(json_build_array(m.organization_id, m.role) order by m.joined_at, m.organization_id)
    from memberships m join organizations o on o.id = m.organization_id and o.deleted_at is null
    where m.user_id = u.id), '[]'::json)::text as memberships`

const credential = 'c.id as credential_id, c.expires_at, c.revoked_at'

/** Workspaces of the user's teams. An archived one is read-only. */
const shared = `coalesce((select json_agg(json_build_array(w.id,
      case when w.status = 'archived' then 'viewer' else t.role end, t.organization_id,
      (select json_agg(o.id) from workspace_teams x
        join organizations o on o.id = x.organization_id and o.deleted_at is null where x.workspace_id = w.id)))
    from memberships m join workspace_teams t on t.organization_id = m.organization_id
    join workspaces w on w.id = t.workspace_id and w.deleted_at is null
    join organizations owner on owner.id = w.organization_id and owner.deleted_at is null
    where m.user_id = u.id), '[]'::json)::text as shared`

const bySession = `select ${person}, ${credential}, ${shared}, c.via, c.authenticated_at, c.impersonator_id
  from login_sessions c join users u on u.id = c.user_id where c.id = $1`
const byUser = `select ${person}, ${shared} from users u where u.id = $1`
const ofKey = `select ${person}, ${credential}, ${shared}, c.scopes::text, c.organization_id, c.projects::text
  from api_keys c join users u on u.id = c.user_id`
const bearer = `c.scopes::text, c.organization_id, c.toolsets::text, c.project_id, c.projects::text,
  coalesce(o.sandbox_of, o.id) as member_of,
  o.personal and o.created_by_id = c.user_id and o.sandbox_of is null as own_space,
  a.id as agent_id, a.name as agent_name, a.client as agent_client,
  coalesce(a.for_id = c.user_id, false) as agent_for_user`
const ofBearer = `join users u on u.id = c.user_id
  join organizations o on o.id = c.organization_id and o.deleted_at is null
  left join agents a on a.id = c.agent_id and a.deleted_at is null`
const ofToken = `select ${person}, coalesce(c.grant_id, c.id) as credential_id, c.expires_at, c.revoked_at,
  c.grant_id is not null as granted, ${bearer} from mcp_tokens c ${ofBearer}`
/** A permission outlives its tokens: an open stream lives as long as it does. */
const ofGrant = `select ${person}, c.id as credential_id, least(c.expires_at, c.idle_until) as expires_at, c.revoked_at,
  true as granted, ${bearer} from oauth_grants c ${ofBearer}`

/** The credential of a tunnel works until it is replaced or the tunnel is deleted. */
const ofTunnel = `select ${person}, c.token_id as credential_id, timestamptz '9999-12-31' as expires_at,
  c.deleted_at as revoked_at, c.id as tunnel_id, c.organization_id
  from tunnels c join users u on u.id = c.owner_id
  join organizations o on o.id = c.organization_id and o.deleted_at is null`

/** A limited token has the second hash. A row whose hash and limit disagree is not valid. */
const isHashed = '((c.hash = $1 and c.projects is null) or (c.hash = $2 and c.projects is not null))'
const keyBy = { hash: `${ofKey} where ${isHashed}`, id: `${ofKey} where c.id = $1` }
const tunnelBy = { hash: `${ofTunnel} where c.token_hash = $1`, id: `${ofTunnel} where c.token_id = $1` }
const tokenBy = {
  hash: `${ofToken} where ${isHashed}`,
  id: `${ofToken} where c.id = $1 and c.grant_id is null union all ${ofGrant} where c.id = $1`,
}

async function queryFirst<R>(driver: Driver, text: string, ...keys: string[]): Promise<R | undefined> {
  const { columns, rows } = await driver.query(text, keys)
  const row = rows[0]
  return row && (Object.fromEntries(columns.map((name, i) => [name, row[i]])) as R)
}

export const sessionRow = (driver: Driver, id: string) => queryFirst<SessionRow>(driver, bySession, id)
export const userRow = (driver: Driver, id: string) => queryFirst<PersonRow & Shared>(driver, byUser, id)
export const keyRow = (driver: Driver, secret: string) =>
  queryFirst<KeyRow>(driver, keyBy.hash, ...bearerHashes(secret))
export const keyRowById = (driver: Driver, id: string) => queryFirst<KeyRow>(driver, keyBy.id, id)
export const tokenRow = (driver: Driver, secret: string) =>
  queryFirst<TokenRow>(driver, tokenBy.hash, ...bearerHashes(secret))
export const tokenRowById = (driver: Driver, id: string) => queryFirst<TokenRow>(driver, tokenBy.id, id)
export const tunnelRow = (driver: Driver, value: string, by: 'hash' | 'id' = 'hash') =>
  queryFirst<TunnelRow>(driver, tunnelBy[by], value)
