import { count, eq, gte, inArray, sql } from 'drizzle-orm'
import { type Ctx, read } from '../../action.ts'
import { organizationsOf, userIdOf } from '../../auth/actor.ts'
import { byRow } from '../../auth/policy.ts'
import { rightsOf } from '../../auth/rights.ts'
import { anyOf, idList } from '../../db/columns.ts'
import { and, or } from '../../db/conditions.ts'
import { events } from '../../events/table.ts'
import { emitChangedRows } from '../../records/synced-changes.ts'
import { memberAdded, memberRemoved, memberRoleChanged, organizationDeleted } from '../organizations/events.ts'
import { organizations } from '../organizations/table.ts'
import { workspaceDeleted, workspaceUnshared } from '../workspaces/events.ts'
import {
  findWorkspace,
  isVisibleWorkspace,
  projectCounts,
  projectsLeave,
  selectWorkspaces,
} from '../workspaces/rows.ts'
import { workspaces, workspaceTeams } from '../workspaces/table.ts'
import { projectColumns, visibleTo } from './rows.ts'
import type { Project, ProjectPage, ProjectQuery, Sync, Synced } from './schema.ts'
import { listIn } from './service.ts'
import { projects } from './table.ts'

export const listInWorkspace = read(
  'projects.listInWorkspace',
  byRow('projects:read'),
  async (ctx, { id, ...query }: ProjectQuery & { id: string }): Promise<ProjectPage> => {
    await findWorkspace(ctx, id)
    return listIn(ctx, eq(projects.workspaceId, id), query)
  },
)

/** Lists all projects in these workspaces that the caller may see, including archived ones. */
const listInWorkspaces = read(
  'projects.inWorkspaces',
  byRow('projects:read'),
  (ctx, { ids }: { ids: string[] }): Promise<Project[]> =>
    ctx.db
      .select(projectColumns)
      .from(projects)
      .where(and(anyOf(projects.workspaceId, idList(ids)), visibleTo(rightsOf(ctx.actor))))
      .orderBy(projects.name, projects.id),
)

export const countInWorkspaces = projectCounts.handle(async (ctx, { ids }) => {
  const rows = await ctx.db
    .select({ id: sql<string>`${projects.workspaceId}`, n: count() })
    .from(projects)
    .where(and(anyOf(projects.workspaceId, idList(ids)), visibleTo(rightsOf(ctx.actor))))
    .groupBy(projects.workspaceId)
  return new Map(rows.map(({ id, n }) => [id, n]))
})

export const leaveWorkspace = projectsLeave.handle(async (ctx, { id, teamId }) => {
  const left = await ctx.db
    .update(projects)
    .set({ workspaceId: null, updatedAt: ctx.now, version: sql`${projects.version} + 1` })
    .where(and(eq(projects.workspaceId, id), teamId === undefined ? undefined : eq(projects.organizationId, teamId)))
    .returning({ id: projects.id, projectId: projects.id, organizationId: projects.organizationId })
  emitChangedRows(ctx, 'project', left)
})

const DELTA_DAYS = 7

/**
 * For clients that keep a copy: returns the workspaces that changed since a time, or all if the changes cannot be
 * determined. It writes nothing; it is a POST because the specification says so.
 */
export const syncWorkspaces = read(
  'projects.syncWorkspaces',
  byRow('workspaces:read'),
  async (ctx, { since }: Sync): Promise<Synced> => {
    const ago = (from: string, milliseconds: number) => new Date(Date.parse(from) - milliseconds).toISOString()
    // The overlap includes changes that began before the last response and were committed after it.
    const from = since && ago(since, 60_000)
    const full = !from || from < ago(ctx.now, DELTA_DAYS * 86_400_000) || (await ownRightsChanged(ctx, from))
    const changed = full
      ? undefined
      : or(
          gte(workspaces.updatedAt, from),
          sql`exists (select 1 from ${projects} p where p.workspace_id = ${workspaces.id} and p.updated_at >= ${from})`,
          sql`exists (select 1 from ${workspaceTeams} t join ${organizations} o on o.id = t.organization_id
          where t.workspace_id = ${workspaces.id} and o.updated_at >= ${from})`,
        )
    const rows = await selectWorkspaces(ctx, and(isVisibleWorkspace(ctx), changed), [sql`${workspaces.id}`], 10_000)
    const inside = Map.groupBy(await listInWorkspaces(ctx, { ids: rows.map((w) => w.id) }), (p) => p.workspaceId)
    return {
      syncedAt: ctx.now,
      full,
      items: rows.map((workspace) => ({ ...workspace, projects: inside.get(workspace.id) ?? [] })),
      removed: full ? [] : await workspacesLostSince(ctx, from),
    }
  },
)

/** Returns true if the caller's memberships changed, so that workspaces may have appeared or disappeared. */
async function ownRightsChanged(ctx: Ctx, from: string): Promise<boolean> {
  const [found] = await ctx.db
    .select({ id: events.id })
    .from(events)
    .where(
      and(
        gte(events.at, from),
        or(
          eq(events.type, organizationDeleted.name),
          and(
            inArray(
              events.type,
              [memberAdded, memberRemoved, memberRoleChanged].map(({ name }) => name),
            ),
            sql`${events.data}->>'userId' = ${userIdOf(ctx.actor)}`,
          ),
        ),
      ),
    )
    .limit(1)
  return found !== undefined
}

async function workspacesLostSince(ctx: Ctx, from: string): Promise<string[]> {
  const mine = idList(organizationsOf(ctx.actor))
  const { rows } = await ctx.db.execute<{ id: string }>(sql`
    select distinct e.subject_id as id from ${events} e
    where e.organization_id = any(${mine}::uuid[]) and e.type in (${workspaceDeleted.name}, ${workspaceUnshared.name})
      and e.at >= ${from}
      and not exists (select 1 from ${workspaces} w join ${workspaceTeams} t on t.workspace_id = w.id
        where w.id = e.subject_id and w.deleted_at is null and t.organization_id = any(${mine}::uuid[]))`)
  return rows.map((r) => r.id)
}
