import { type SQL, sql } from 'drizzle-orm'
import type { UserOrAgent } from '../../records/user-or-agent.ts'
import { agents } from '../agents/table.ts'
import { users } from '../users/table.ts'
import { tasks } from './table.ts'

/**
 * SQL for a party as JSON: its name; for an agent also its program and the id and name of the person it works for. Null
 * for a removed account, and for an agent that neither belongs to the team any more nor is public.
 */
const partyOf = (type: SQL, id: SQL, forId?: SQL): SQL<string | null> =>
  sql`case ${type}
    when 'user' then (select json_build_array(${users.name})::text from ${users} where ${users.id} = ${id})
    when 'agent' then (select json_build_array(${agents.name}, ${agents.client}, ${users.id}, ${users.name})::text
      from ${agents} left join ${users} on ${users.id} = coalesce(${forId ?? sql`null::uuid`}, ${agents.forId})
      where ${agents.id} = ${id}
        and (${agents.organizationId} = ${tasks.organizationId} or ${agents.scope} = 'public')) end`

export function toParty(type: UserOrAgent['type'], id: string | null, json: string): UserOrAgent {
  const [name, client, forId, forName] = JSON.parse(json) as [string, string?, string?, string?]
  return { type, id, name, ...(client && { client }), ...(forId && { for: { id: forId, name: String(forName) } }) }
}

export const assigneeParty = partyOf(sql`${tasks.assigneeType}`, sql`${tasks.assigneeId}`)
export const leaseParty = partyOf(sql`${tasks.leaseType}`, sql`${tasks.leaseHolderId}`, sql`${tasks.leaseForId}`)
/** The assignee of a task, for list items. */
export const assigneeOfItem: SQL = sql`case when ${assigneeParty} is not null
  then json_build_array(${tasks.assigneeType}, ${tasks.assigneeId}, ${assigneeParty})::text end`.mapWith(
  (json: string): UserOrAgent => toParty(...(JSON.parse(json) as [UserOrAgent['type'], string, string])),
)
