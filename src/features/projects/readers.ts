import { sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { idList } from '../../db/columns.ts'
import { memberships, organizations } from '../organizations/table.ts'
import { users } from '../users/table.ts'
import { workspaces, workspaceTeams } from '../workspaces/table.ts'
import { projects } from './table.ts'

/** Returns which of these people can see a project now: the rule of `visibleTo` for people other than the caller. */
export async function readersOf(ctx: Ctx, projectId: string, people: readonly string[]): Promise<string[]> {
  if (people.length === 0) return []
  const { rows } = await ctx.db.execute<{ id: string }>(sql`
    select distinct u.id from ${projects} p, ${memberships} m
      join ${users} u on u.id = m.user_id and u.status = 'active'
      join ${organizations} o on o.id = m.organization_id and o.deleted_at is null
    where p.id = ${projectId} and p.deleted_at is null and u.id = any(${idList(people)}::uuid[]) and (
      (o.id = p.organization_id
        and (p.visibility <> 'private' or u.id = p.created_by_id or m.role in ('admin', 'owner')))
      or (p.visibility <> 'private' and exists (select 1 from ${workspaceTeams} t
        join ${workspaces} w on w.id = t.workspace_id and w.deleted_at is null
        join ${organizations} owner on owner.id = w.organization_id and owner.deleted_at is null
        where t.organization_id = o.id and w.id = p.workspace_id)))`)
  const readers = new Set(rows.map((row) => row.id))
  return people.filter((id) => readers.has(id))
}
