import { eq, type SQL } from 'drizzle-orm'
import { type Ctx, checkVersion, read, write } from '../../action.ts'
import { currentOrganization, userIdOf } from '../../auth/actor.ts'
import { byRow, member, permissionOf, ruleRefusal, throwIfRefused } from '../../auth/policy.ts'
import { idList } from '../../db/columns.ts'
import { and } from '../../db/conditions.ts'
import { notFound } from '../../errors.ts'
import { keyset } from '../../records/page.ts'
import { workspaceCreated, workspaceDeleted, workspaceUpdated } from './events.ts'
import { cancelAllInvites } from './invites.ts'
import {
  createRefusal,
  removeRefusal,
  statusRefusal,
  updateRefusal,
  workspacePermissions,
  workspaceWriteRule,
} from './refusals.ts'
import {
  changeWorkspaceRow,
  findWorkspace,
  isVisibleWorkspace,
  listAddableTeams,
  projectsLeave,
  selectWorkspaces,
  withOwner,
  workspaceEvents,
} from './rows.ts'
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
  const rows = await selectWorkspaces(ctx, page.where(filters), page.orderBy, page.limit)
  return page.page(rows, query.total ? await ctx.db.$count(withOwner, filters) : undefined)
}

/** Lists the workspaces of all the caller's teams. */
export const list = read(
  'workspaces.list',
  byRow('workspaces:read'),
  (ctx, query: WorkspaceQuery): Promise<WorkspacePage> => listIn(ctx, isVisibleWorkspace(ctx), query),
)

export const listOfTeam = read(
  'workspaces.listOfTeam',
  byRow('workspaces:read'),
  async (ctx, { id, ...query }: WorkspaceQuery & { id: string }): Promise<WorkspacePage> => {
    if (!ctx.actor.memberships.has(id)) throw notFound('organization', id)
    const create =
      ruleRefusal(ctx.actor, workspaceWriteRule, 'workspaces.createInTeam', ctx.app.clock) ?? createRefusal(ctx, id)
    return {
      ...(await listIn(ctx, isVisibleWorkspace(ctx, idList([id])), query)),
      can: { create: permissionOf(create) },
    }
  },
)

export const get = read(
  'workspaces.get',
  byRow('workspaces:read'),
  async (ctx, { id }: { id: string }): Promise<WorkspaceDetail> => {
    const workspace = await findWorkspace(ctx, id)
    const allowed = workspacePermissions(ctx, workspace)
    return {
      ...workspace,
      ...allowed,
      addable: allowed.can.share === true ? await listAddableTeams(ctx, workspace) : [],
    }
  },
)

// ---- changing

async function makeWorkspace(ctx: Ctx, organizationId: string, input: WorkspaceCreate): Promise<Workspace> {
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
  const workspace = await findWorkspace(ctx, made.id)
  for (const about of workspaceEvents(workspace)) ctx.emit(workspaceCreated, about)
  return workspace
}

export const create = write(
  'workspaces.create',
  member('workspaces:write'),
  (ctx, input: WorkspaceCreate): Promise<Workspace> => makeWorkspace(ctx, currentOrganization(ctx.actor), input),
)

export const createInTeam = write(
  'workspaces.createInTeam',
  workspaceWriteRule,
  async (ctx, { id, ...input }: WorkspaceCreate & { id: string }): Promise<Workspace> => {
    if (!ctx.actor.memberships.has(id)) throw notFound('organization', id)
    throwIfRefused(createRefusal(ctx, id))
    return makeWorkspace(ctx, id, input)
  },
)

async function applyWorkspacePatch(ctx: Ctx, { id, ...patch }: WorkspacePatch & { id: string }): Promise<Workspace> {
  const before = await findWorkspace(ctx, id)
  throwIfRefused(updateRefusal(before))
  if (patch.status !== undefined && patch.status !== before.status) throwIfRefused(statusRefusal(ctx, before))
  checkVersion(ctx, before)
  await changeWorkspaceRow(ctx, before, patch.name === undefined ? patch : { ...patch, name: patch.name.trim() })
  const after = await findWorkspace(ctx, id)
  for (const about of workspaceEvents(after, { fields: Object.keys(patch) })) ctx.emit(workspaceUpdated, about)
  return after
}

export const update = write('workspaces.update', workspaceWriteRule, applyWorkspacePatch, { versioned: true })
/** Like PATCH: changes only the given fields. */
export const put = write('workspaces.put', workspaceWriteRule, applyWorkspacePatch, { versioned: true })

export const remove = write(
  'workspaces.remove',
  workspaceWriteRule,
  async (ctx, { id }: { id: string }): Promise<{ id: string; deleted: true }> => {
    const before = await findWorkspace(ctx, id)
    throwIfRefused(removeRefusal(ctx, before))
    checkVersion(ctx, before)
    await cancelAllInvites(ctx, eq(workspaces.id, id))
    await changeWorkspaceRow(ctx, before, { deletedAt: ctx.now })
    await projectsLeave.call(ctx, { id })
    for (const about of workspaceEvents(before)) ctx.emit(workspaceDeleted, about)
    return { id, deleted: true }
  },
  { destructive: true, versioned: true },
)
