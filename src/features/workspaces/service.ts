import { eq, type SQL } from 'drizzle-orm'
import { type Ctx, checkVersion, read, write } from '../../action.ts'
import { currentOrganization, userIdOf } from '../../auth/actor.ts'
import { byRow, member, permissionOf, refusalOf, refuse } from '../../auth/policy.ts'
import { idList } from '../../db/columns.ts'
import { and } from '../../db/conditions.ts'
import { notFound } from '../../errors.ts'
import { keyset } from '../../records/page.ts'
import { workspaceCreated, workspaceDeleted, workspaceUpdated } from './events.ts'
import { cancelAll } from './invites.ts'
import { can, changing, createRefusal, removeRefusal, statusRefusal, updateRefusal } from './refusals.ts'
import { aboutEach, addable, alter, find, projectsLeave, seenBy, select, withOwner } from './rows.ts'
import type {
  Workspace,
  WorkspaceCreate,
  WorkspaceDetail,
  WorkspacePage,
  WorkspacePatch,
  WorkspaceQuery,
} from './schema.ts'
import { workspaces, workspaceTeams } from './table.ts'

// ---- reading

async function listIn(ctx: Ctx, where: SQL, { status = 'active', ...query }: WorkspaceQuery): Promise<WorkspacePage> {
  const keys = { updatedAt: workspaces.updatedAt, createdAt: workspaces.createdAt, name: workspaces.name }
  const page = keyset(keys, workspaces.id, query, { sort: 'updatedAt' })
  const filters = and(where, eq(workspaces.status, status))
  const rows = await select(ctx, page.where(filters), page.orderBy, page.limit)
  return page.page(rows, query.total ? await ctx.db.$count(withOwner, filters) : undefined)
}

/** Lists the workspaces of all the caller's teams. */
export const list = read(
  'workspaces.list',
  byRow('workspaces:read'),
  (ctx, query: WorkspaceQuery): Promise<WorkspacePage> => listIn(ctx, seenBy(ctx), query),
)

export const listOfTeam = read(
  'workspaces.listOfTeam',
  byRow('workspaces:read'),
  async (ctx, { id, ...query }: WorkspaceQuery & { id: string }): Promise<WorkspacePage> => {
    if (!ctx.actor.memberships.has(id)) throw notFound('organization', id)
    const create = refusalOf(ctx.actor, changing, 'workspaces.createInTeam', ctx.app.clock) ?? createRefusal(ctx, id)
    return { ...(await listIn(ctx, seenBy(ctx, idList([id])), query)), can: { create: permissionOf(create) } }
  },
)

export const get = read(
  'workspaces.get',
  byRow('workspaces:read'),
  async (ctx, { id }: { id: string }): Promise<WorkspaceDetail> => {
    const workspace = await find(ctx, id)
    const allowed = can(ctx, workspace)
    return { ...workspace, ...allowed, addable: allowed.can.share === true ? await addable(ctx, workspace) : [] }
  },
)

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
  changing,
  async (ctx, { id, ...input }: WorkspaceCreate & { id: string }): Promise<Workspace> => {
    if (!ctx.actor.memberships.has(id)) throw notFound('organization', id)
    refuse(createRefusal(ctx, id))
    return make(ctx, id, input)
  },
)

async function change(ctx: Ctx, { id, ...patch }: WorkspacePatch & { id: string }): Promise<Workspace> {
  const before = await find(ctx, id)
  refuse(updateRefusal(before))
  if (patch.status !== undefined && patch.status !== before.status) refuse(statusRefusal(ctx, before))
  checkVersion(ctx, before)
  await alter(ctx, before, patch.name === undefined ? patch : { ...patch, name: patch.name.trim() })
  const after = await find(ctx, id)
  for (const about of aboutEach(after, { fields: Object.keys(patch) })) ctx.emit(workspaceUpdated, about)
  return after
}

export const update = write('workspaces.update', changing, change, { versioned: true })
/** Like PATCH: changes only the given fields. */
export const put = write('workspaces.put', changing, change, { versioned: true })

export const remove = write(
  'workspaces.remove',
  changing,
  async (ctx, { id }: { id: string }): Promise<{ id: string; deleted: true }> => {
    const before = await find(ctx, id)
    refuse(removeRefusal(ctx, before))
    checkVersion(ctx, before)
    await cancelAll(ctx, eq(workspaces.id, id))
    await alter(ctx, before, { deletedAt: ctx.now })
    await projectsLeave.call(ctx, { id })
    for (const about of aboutEach(before)) ctx.emit(workspaceDeleted, about)
    return { id, deleted: true }
  },
  { destructive: true, versioned: true },
)
