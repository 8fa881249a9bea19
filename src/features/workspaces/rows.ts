import { eq, isNull, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { organizationsOf } from '../../auth/actor.ts'
import { isAtLeast, lowerRole, type Role, workspaceRoles } from '../../auth/policy.ts'
import { anyOf, idList } from '../../db/columns.ts'
import { and } from '../../db/conditions.ts'
import { notFound } from '../../errors.ts'
import { hook } from '../../hooks.ts'
import { updateVersioned } from '../../records/rows.ts'
import { organizations } from '../organizations/table.ts'
import type { Workspace, WorkspaceTeam } from './schema.ts'
import { workspaces, workspaceTeams } from './table.ts'

/** Returns how many projects the caller sees in each of these workspaces; one without projects may be missing. */
export const projectCounts = hook<{ ids: string[] }, Map<string, number>>('workspaces.projectCounts')

/** Removes the projects of one team, or all, from a workspace. */
export const projectsLeave = hook<{ id: string; teamId?: string }>('workspaces.projectsLeave')

const workspaceColumns = {
  id: workspaces.id,
  createdAt: workspaces.createdAt,
  updatedAt: workspaces.updatedAt,
  version: workspaces.version,
  organizationId: workspaces.organizationId,
  createdById: workspaces.createdById,
  name: workspaces.name,
  description: workspaces.description,
  folders: workspaces.folders,
  status: workspaces.status,
}
const teamsOf = sql`${workspaceTeams} t join ${organizations} o on o.id = t.organization_id and o.deleted_at is null`
/** All teams of a workspace as JSON; the owning team comes first. */
const teamList = sql<string>`(select json_agg(json_build_object('id', o.id, 'name', o.name, 'role', t.role)
  order by t.added_at, o.id)
  from ${teamsOf} where t.workspace_id = ${workspaces.id})::text`

/** A workspace is visible to the members of all its teams, as long as the owning team exists. */
export const isVisibleWorkspace = (ctx: Ctx, among = idList(organizationsOf(ctx.actor))): SQL =>
  and(
    isNull(workspaces.deletedAt),
    isNull(organizations.deletedAt),
    sql`exists (select 1 from ${workspaceTeams} t where t.workspace_id = ${workspaces.id}
        and t.organization_id = any(${among}::uuid[]))`,
  )

/** Workspaces with their owning team, for counting. */
export const withOwner = sql`${workspaces} join ${organizations} on ${organizations.id} = ${workspaces.organizationId}`

export async function selectWorkspaces(
  ctx: Ctx,
  where: SQL | undefined,
  order: SQL[],
  limit: number,
): Promise<Workspace[]> {
  const rows = await ctx.db
    .select({ ...workspaceColumns, teams: teamList })
    .from(workspaces)
    .innerJoin(organizations, eq(organizations.id, workspaces.organizationId))
    .where(where)
    .orderBy(...order)
    .limit(limit)
  const [counted] = rows.length > 0 ? await projectCounts.call(ctx, { ids: rows.map(({ id }) => id) }) : []
  return rows.map(({ teams: json, ...row }) => {
    const list = JSON.parse(json) as WorkspaceTeam[]
    const counts = { teams: list.length, projects: counted?.get(row.id) ?? 0 }
    return { ...row, teams: list, counts, role: roleIn(ctx, row, list) }
  })
}

/**
 * Returns the caller's best role. Each of their teams gives the lesser of two roles: the team's in the workspace, and
 * the caller's in the team. In an archived workspace, teams other than the owner can only read.
 */
function roleIn(
  { actor }: Ctx,
  { organizationId, status }: Pick<Workspace, 'organizationId' | 'status'>,
  list: WorkspaceTeam[],
): Role {
  const held = list.flatMap(({ id, role }) => {
    const mine = actor.memberships.get(id)
    return mine
      ? [lowerRole(mine, status === 'archived' && id !== organizationId ? 'viewer' : workspaceRoles[role])]
      : []
  })
  return held.reduce((best, role) => (isAtLeast(role, best) ? role : best), 'viewer' as Role)
}

export async function findWorkspace(ctx: Ctx, id: string): Promise<Workspace> {
  const [found] = await selectWorkspaces(ctx, and(eq(workspaces.id, id), isVisibleWorkspace(ctx)), [], 1)
  if (!found) throw notFound('workspace', id)
  return found
}

/** Finds a workspace that the caller is invited to, which the calling code has checked. */
export async function findForInvited(ctx: Ctx, id: string): Promise<Workspace> {
  const [found] = await selectWorkspaces(ctx, and(eq(workspaces.id, id), isNull(workspaces.deletedAt)), [], 1)
  if (!found) throw notFound('workspace', id)
  return found
}

/** Returns the teams that the caller could add: those that they administer and that are not in the workspace. */
export async function listAddableTeams(ctx: Ctx, { teams }: Workspace): Promise<{ id: string; name: string }[]> {
  const mine = [...ctx.actor.memberships]
    .filter(([id, role]) => isAtLeast(role, 'admin') && !teams.some((team) => team.id === id))
    .map(([id]) => id)
  if (mine.length === 0) return []
  return ctx.db
    .select({ id: organizations.id, name: organizations.name })
    .from(organizations)
    .where(and(anyOf(organizations.id, idList(mine)), isNull(organizations.deletedAt)))
    .orderBy(organizations.name, organizations.id)
}

/** Changes the row and locks it: a concurrent request that adds a project waits, and then sees the change. */
export const changeWorkspaceRow = (ctx: Ctx, before: Workspace, set: Partial<typeof workspaces.$inferInsert>) =>
  updateVersioned(ctx, workspaces, {
    columns: { id: workspaces.id, version: workspaces.version },
    before,
    set,
    what: 'this workspace',
    again: () => findWorkspace(ctx, before.id),
  })

/** Returns the event fields once for each team of the workspace. */
export const workspaceEvents = <D extends object>({ id, name, teams }: Workspace, data?: D) =>
  teams.map((team) => ({ subjectId: id, organizationId: team.id, data: Object.assign({ name }, data) }))
