import { count, eq, gte, inArray, isNull, type SQL, sql } from 'drizzle-orm'
import { type Ctx, checkVersion, read, write } from '../../action.ts'
import { currentOrganization, organizationsOf, userIdOf } from '../../auth/actor.ts'
import { account, atLeast, inWorkspace, lesser, member, type Role, requireRole } from '../../auth/policy.ts'
import { rightsOf } from '../../auth/rights.ts'
import { idList } from '../../db/columns.ts'
import { and, or } from '../../db/conditions.ts'
import { AppError, notFound } from '../../errors.ts'
import { events } from '../../events/table.ts'
import { keyset } from '../../records/page.ts'
import { changeVersioned } from '../../records/rows.ts'
import { memberAdded, memberRemoved, memberRoleChanged, organizationDeleted } from '../organizations/events.ts'
import { organizations } from '../organizations/table.ts'
import type { ProjectPage, ProjectQuery } from '../projects/schema.ts'
import * as projects from '../projects/service.ts'
import { projects as projectTable } from '../projects/table.ts'
import { workspaceCreated, workspaceDeleted, workspaceShared, workspaceUnshared, workspaceUpdated } from './events.ts'
import type {
  Sync,
  Synced,
  TeamAdd,
  Workspace,
  WorkspaceCreate,
  WorkspacePage,
  WorkspacePatch,
  WorkspaceQuery,
  WorkspaceTeam,
} from './schema.ts'
import { workspaces, workspaceTeams } from './table.ts'

const own = {
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
const taking = sql`${workspaceTeams} t join ${organizations} o on o.id = t.organization_id and o.deleted_at is null`
/** The first is the one it belongs to. */
const teamList = sql<string>`(select json_agg(json_build_object('id', o.id, 'name', o.name, 'role', t.role) order by t.added_at, o.id)
  from ${taking} where t.workspace_id = ${workspaces.id})::text`

/** Whoever is in a team that takes part sees it, as long as the team it belongs to is there. */
const seenBy = (ctx: Ctx, among = idList(organizationsOf(ctx.actor))): SQL =>
  and(
    isNull(workspaces.deletedAt),
    isNull(organizations.deletedAt),
    sql`exists (select 1 from ${workspaceTeams} t where t.workspace_id = ${workspaces.id} and t.organization_id = any(${among}::uuid[]))`,
  )

async function select(ctx: Ctx, where: SQL | undefined, order: SQL[], limit: number): Promise<Workspace[]> {
  const visible = projects.visibleTo(rightsOf(ctx.actor))
  const rows = await ctx.db
    .select({
      ...own,
      teams: teamList,
      projects: sql<number>`(select count(*)::int from ${projectTable} where ${projectTable.workspaceId} = ${workspaces.id} and ${visible})`,
    })
    .from(workspaces)
    .innerJoin(organizations, eq(organizations.id, workspaces.organizationId))
    .where(where)
    .orderBy(...order)
    .limit(limit)
  return rows.map(({ teams: list, projects: n, ...row }) => {
    const taken = JSON.parse(list) as WorkspaceTeam[]
    return { ...row, teams: taken, counts: { teams: taken.length, projects: n }, role: roleIn(ctx, row, taken) }
  })
}

/** Of all his teams in it the best: the lesser of the team's role and his own in the team. In an archived one other teams only read. */
function roleIn(
  { actor }: Ctx,
  { organizationId, status }: Pick<Workspace, 'organizationId' | 'status'>,
  list: WorkspaceTeam[],
): Role {
  const held = list.flatMap(({ id, role }) => {
    const mine = actor.memberships.get(id)
    return mine ? [lesser(mine, status === 'archived' && id !== organizationId ? 'viewer' : inWorkspace[role])] : []
  })
  return held.reduce((best, role) => (atLeast(role, best) ? role : best), 'viewer' as Role)
}

async function find(ctx: Ctx, id: string): Promise<Workspace> {
  const [found] = await select(ctx, and(eq(workspaces.id, id), seenBy(ctx)), [], 1)
  if (!found) throw notFound('workspace', id)
  return found
}

// ---- reading

async function listIn(ctx: Ctx, where: SQL, { status = 'active', ...query }: WorkspaceQuery): Promise<WorkspacePage> {
  const keys = { updatedAt: workspaces.updatedAt, createdAt: workspaces.createdAt, name: workspaces.name }
  const page = keyset(keys, workspaces.id, query, { sort: 'updatedAt' })
  const filters = [where, eq(workspaces.status, status)]
  const rows = await select(ctx, page.where(...filters), page.orderBy, page.limit)
  const total = query.total
    ? (
        await ctx.db
          .select({ n: count() })
          .from(workspaces)
          .innerJoin(organizations, eq(organizations.id, workspaces.organizationId))
          .where(and(...filters))
      )[0]?.n
    : undefined
  return page.page(rows, total)
}

/** Of all the caller's teams. */
export const list = read(
  'workspaces.list',
  account('workspaces:read'),
  (ctx, query: WorkspaceQuery): Promise<WorkspacePage> => listIn(ctx, seenBy(ctx), query),
)

export const listOfTeam = read(
  'workspaces.listOfTeam',
  account('workspaces:read'),
  async (ctx, { id, ...query }: WorkspaceQuery & { id: string }): Promise<WorkspacePage> => {
    if (!ctx.actor.memberships.has(id)) throw notFound('organization', id)
    return listIn(ctx, seenBy(ctx, idList([id])), query)
  },
)

export const get = read(
  'workspaces.get',
  account('workspaces:read'),
  (ctx, { id }: { id: string }): Promise<Workspace> => find(ctx, id),
)

export const listProjects = read(
  'workspaces.listProjects',
  account('projects:read'),
  async (ctx, { id, ...query }: ProjectQuery & { id: string }): Promise<ProjectPage> => {
    await find(ctx, id)
    return projects.listIn(ctx, eq(projectTable.workspaceId, id), query)
  },
)

const DELTA_DAYS = 7

/** For clients that keep a copy: what changed since, or all there is where that cannot be told. */
export const sync = read(
  'workspaces.sync',
  account('workspaces:read'),
  async (ctx, { since }: Sync): Promise<Synced> => {
    const ago = (from: string, milliseconds: number) => new Date(Date.parse(from) - milliseconds).toISOString()
    // A change that was begun before the last answer and stored after it must not be missed.
    const from = since && ago(since, 60_000)
    const full = !from || from < ago(ctx.now, DELTA_DAYS * 86_400_000) || (await ownRightsChanged(ctx, from))
    const changed = full
      ? undefined
      : or(
          gte(workspaces.updatedAt, from),
          sql`exists (select 1 from ${projectTable} p where p.workspace_id = ${workspaces.id} and p.updated_at >= ${from})`,
          sql`exists (select 1 from ${workspaceTeams} t join ${organizations} o on o.id = t.organization_id
          where t.workspace_id = ${workspaces.id} and o.updated_at >= ${from})`,
        )
    const rows = await select(ctx, and(seenBy(ctx), changed), [sql`${workspaces.id}`], 10_000)
    const inside = Map.groupBy(await projects.inWorkspaces(ctx, { ids: rows.map((w) => w.id) }), (p) => p.workspaceId)
    return {
      syncedAt: ctx.now,
      full,
      items: rows.map((workspace) => ({ ...workspace, projects: inside.get(workspace.id) ?? [] })),
      removed: full ? [] : await lostSince(ctx, from),
    }
  },
)

/** Then more may have appeared or gone than the workspaces themselves tell. */
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

async function lostSince(ctx: Ctx, from: string): Promise<string[]> {
  const mine = idList(organizationsOf(ctx.actor))
  const { rows } = await ctx.db.execute<{ id: string }>(sql`
    select distinct e.subject_id as id from ${events} e
    where e.organization_id = any(${mine}::uuid[]) and e.type in (${workspaceDeleted.name}, ${workspaceUnshared.name}) and e.at >= ${from}
      and not exists (select 1 from ${workspaces} w join ${workspaceTeams} t on t.workspace_id = w.id
        where w.id = e.subject_id and w.deleted_at is null and t.organization_id = any(${mine}::uuid[]))`)
  return rows.map((r) => r.id)
}

// ---- changing

async function make(ctx: Ctx, organizationId: string, input: WorkspaceCreate): Promise<Workspace> {
  const [made] = await ctx.db
    .insert(workspaces)
    .values({
      organizationId,
      createdById: userIdOf(ctx.actor),
      name: input.name.trim(),
      description: input.description,
      folders: input.folders ?? [],
      createdAt: ctx.now,
      updatedAt: ctx.now,
    })
    .returning({ id: workspaces.id })
  if (!made) throw new Error('insert returned nothing')
  await ctx.db.insert(workspaceTeams).values({ workspaceId: made.id, organizationId, role: 'owner', addedAt: ctx.now })
  const workspace = await find(ctx, made.id)
  for (const about of aboutEach(workspace)) ctx.emit(workspaceCreated, about)
  return workspace
}

export const create = write(
  'workspaces.create',
  member('workspaces:write'),
  (ctx, input: WorkspaceCreate): Promise<Workspace> => make(ctx, currentOrganization(ctx.actor), input),
)

export const createInTeam = write(
  'workspaces.createInTeam',
  account('workspaces:write'),
  async (ctx, { id, ...input }: WorkspaceCreate & { id: string }): Promise<Workspace> => {
    if (!ctx.actor.memberships.has(id)) throw notFound('organization', id)
    requireRole(ctx.actor, id, 'member', 'Making a workspace')
    return make(ctx, id, input)
  },
)

async function change(ctx: Ctx, { id, ...patch }: WorkspacePatch & { id: string }): Promise<Workspace> {
  const before = await find(ctx, id)
  if (!atLeast(before.role, 'member')) throw new AppError('forbidden', 'You may only read in this workspace.')
  // It says what other teams may do here, so it is not theirs to say.
  if (patch.status !== undefined && patch.status !== before.status)
    requireRole(ctx.actor, before.organizationId, 'member', 'Archiving a workspace or making it active')
  checkVersion(ctx, before)
  await alter(ctx, before, patch.name === undefined ? patch : { ...patch, name: patch.name.trim() })
  const after = await find(ctx, id)
  for (const about of aboutEach(after, { fields: Object.keys(patch) })) ctx.emit(workspaceUpdated, about)
  return after
}

export const update = write('workspaces.update', account('workspaces:write'), change, { versioned: true })
/** The same by its other name: both change only the fields given. */
export const put = write('workspaces.put', account('workspaces:write'), change, { versioned: true })

export const remove = write(
  'workspaces.remove',
  account('workspaces:write'),
  async (ctx, { id }: { id: string }): Promise<{ id: string; deleted: true }> => {
    const before = await find(ctx, id)
    const needed = before.createdById === ctx.actor.userId ? 'member' : 'admin'
    requireRole(ctx.actor, before.organizationId, needed, 'Deleting this workspace')
    checkVersion(ctx, before)
    await alter(ctx, before, { deletedAt: ctx.now })
    await detach(ctx, id)
    for (const about of aboutEach(before)) ctx.emit(workspaceDeleted, about)
    return { id, deleted: true }
  },
  { destructive: true, versioned: true },
)

// ---- teams

/**
 * Nobody is drawn into a workspace without his consent: the caller must be admin of the other team too. What role a team has that takes
 * part already is for the team that owns the workspace to say.
 */
export const addTeam = write(
  'workspaces.addTeam',
  account('workspaces:write'),
  async (ctx, { id, teamId, role }: TeamAdd & { id: string }): Promise<WorkspaceTeam> => {
    const before = await find(ctx, id)
    requireRole(ctx.actor, before.organizationId, 'admin', 'Sharing a workspace')
    const already = before.teams.some((team) => team.id === teamId)
    if (!already && !atLeast(ctx.actor.memberships.get(teamId), 'admin'))
      throw notFound('team', teamId, 'among those you administer')
    if (teamId === before.organizationId)
      throw new AppError('conflict', 'This workspace belongs to this team, which always is its owner.')
    if (before.status === 'archived')
      throw new AppError('conflict', 'This workspace is archived. Make it active first.')
    await alter(ctx, before, {})
    await ctx.db
      .insert(workspaceTeams)
      .values({ workspaceId: id, organizationId: teamId, role, addedAt: ctx.now })
      .onConflictDoUpdate({ target: [workspaceTeams.workspaceId, workspaceTeams.organizationId], set: { role } })
    const after = await find(ctx, id)
    for (const about of aboutEach(after, { teamId, role })) ctx.emit(workspaceShared, about)
    return after.teams.find((team) => team.id === teamId) as WorkspaceTeam
  },
)

/** By the team that owns the workspace, or by the other one, which leaves. Its projects leave with it. */
export const removeTeam = write(
  'workspaces.removeTeam',
  account('workspaces:write'),
  async (ctx, { id, teamId }: { id: string; teamId: string }): Promise<{ id: string; deleted: true }> => {
    const before = await find(ctx, id)
    if (!before.teams.some((team) => team.id === teamId)) throw notFound('team', teamId, 'in this workspace')
    if (!atLeast(ctx.actor.memberships.get(teamId), 'admin'))
      requireRole(ctx.actor, before.organizationId, 'admin', 'Removing a team from a workspace')
    if (teamId === before.organizationId)
      throw new AppError('conflict', 'This workspace belongs to this team. Delete the workspace instead.')
    await alter(ctx, before, {})
    await ctx.db
      .delete(workspaceTeams)
      .where(and(eq(workspaceTeams.workspaceId, id), eq(workspaceTeams.organizationId, teamId)))
    await detach(ctx, id, eq(projectTable.organizationId, teamId))
    for (const about of aboutEach(before, { teamId })) ctx.emit(workspaceUnshared, about)
    return { id: teamId, deleted: true }
  },
  { destructive: true },
)

/** Locks it as well: whoever shares a project into it waits, and then finds what has become of it. */
const alter = (ctx: Ctx, before: Workspace, set: Partial<typeof workspaces.$inferInsert>) =>
  changeVersioned(ctx, workspaces, {
    columns: { id: workspaces.id, version: workspaces.version },
    before,
    set,
    what: 'this workspace',
    again: () => find(ctx, before.id),
  })

const detach = (ctx: Ctx, id: string, which?: SQL) =>
  ctx.db
    .update(projectTable)
    .set({ workspaceId: null, updatedAt: ctx.now, version: sql`${projectTable.version} + 1` })
    .where(and(eq(projectTable.workspaceId, id), which))

/** Every team in it gets an event of its own. */
const aboutEach = <D extends object>({ id, name, teams }: Workspace, data?: D) =>
  teams.map((team) => ({ subjectId: id, organizationId: team.id, data: Object.assign({ name }, data) }))
