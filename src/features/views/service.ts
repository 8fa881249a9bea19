import { eq, type SQL } from 'drizzle-orm'
import { type Ctx, checkVersion, read, write } from '../../action.ts'
import { currentOrganization, userIdOf } from '../../auth/actor.ts'
import { requireWithinLimit } from '../../auth/limit.ts'
import {
  member,
  permissionOf,
  type Refusal,
  requireRole,
  roleRefusal,
  ruleRefusal,
  throwIfRefused,
} from '../../auth/policy.ts'
import { type Rights, rightsOf } from '../../auth/rights.ts'
import { and, or } from '../../db/conditions.ts'
import { AppError, notFound } from '../../errors.ts'
import { keyset } from '../../records/page.ts'
import { updateVersioned } from '../../records/rows.ts'
import { projectFilter } from '../projects/current.ts'
import * as projects from '../projects/rows.ts'
import { ofTeamOrProject } from '../projects/visible.ts'
import { viewCreated, viewDeleted, viewUpdated } from './events.ts'
import type { View, ViewCreate, ViewPage, ViewPatch, ViewQuery } from './schema.ts'
import { views } from './table.ts'

const viewWriteRule = member('views:write')
type Row = Omit<View, 'can'>

export const viewColumns = {
  id: views.id,
  createdAt: views.createdAt,
  updatedAt: views.updatedAt,
  version: views.version,
  organizationId: views.organizationId,
  projectId: views.projectId,
  createdById: views.createdById,
  shared: views.shared,
  page: views.page,
  name: views.name,
  query: views.query,
}

/** SQL condition: the caller's own views and the shared ones, where they see the project or are in the team. */
export const visibleTo = (rights: Rights): SQL =>
  and(ofTeamOrProject(views, rights), or(eq(views.shared, true), eq(views.createdById, rights.user)))

/** Returns why the caller may not change a view: only its author may, and administrators if it is shared. */
const changeRefusal = (ctx: Ctx, view: Row): Refusal | undefined =>
  view.createdById === ctx.actor.userId
    ? undefined
    : roleRefusal(ctx.actor, view.organizationId, 'admin', 'Changing a view of someone else')

function toView(ctx: Ctx, view: Row): View {
  const may = permissionOf(
    ruleRefusal(ctx.actor, viewWriteRule, 'views.update', ctx.app.clock) ?? changeRefusal(ctx, view),
  )
  return { ...view, can: { update: may, remove: may } }
}

const selectViews = ({ db }: Ctx) => db.select(viewColumns).from(views).$dynamic()

async function findView(ctx: Ctx, id: string): Promise<Row> {
  const [found] = await selectViews(ctx).where(and(eq(views.id, id), visibleTo(rightsOf(ctx.actor))))
  if (!found) throw notFound('view', id)
  return found as Row
}

export const list = read('views.list', member('views:read'), async (ctx, query: ViewQuery): Promise<ViewPage> => {
  const page = keyset({ name: views.name, updatedAt: views.updatedAt }, views.id, query, { sort: 'name', order: 'asc' })
  const projectId = await projectFilter(ctx, query)
  const filters = and(
    visibleTo(rightsOf(ctx.actor)),
    // A project may belong to another team, in a shared workspace.
    projectId ? eq(views.projectId, projectId) : eq(views.organizationId, currentOrganization(ctx.actor)),
    query.page && eq(views.page, query.page),
  )
  const rows = await selectViews(ctx)
    .where(page.where(filters))
    .orderBy(...page.orderBy)
    .limit(page.limit)
  return page.page(
    rows.map((row) => toView(ctx, row as Row)),
    query.total ? await ctx.db.$count(views, filters) : undefined,
  )
})

export const get = read(
  'views.get',
  member('views:read'),
  async (ctx, { id }: { id: string }): Promise<View> => toView(ctx, await findView(ctx, id)),
)

/** How many views one person may have in a team. */
const MOST = 200

export const create = write('views.create', viewWriteRule, async (ctx, input: ViewCreate): Promise<View> => {
  const project = input.projectId === undefined ? undefined : await projects.findProject(ctx, input.projectId)
  const organizationId = project?.organizationId ?? currentOrganization(ctx.actor)
  requireWithinLimit(ctx.actor, project?.id, 'Saving a view')
  if (input.shared) await requireSharing(ctx, { organizationId, projectId: project?.id ?? null })
  const own = and(eq(views.organizationId, organizationId), eq(views.createdById, userIdOf(ctx.actor)))
  if ((await ctx.db.$count(views, own)) >= MOST)
    throw new AppError('conflict', `You have ${MOST} saved views here. Delete one first.`)
  const [row] = await ctx.db
    .insert(views)
    .values({
      organizationId,
      projectId: project?.id,
      createdById: ctx.actor.userId,
      shared: input.shared ?? false,
      page: input.page ?? 'tasks',
      name: input.name.trim(),
      query: input.query,
      createdAt: ctx.now,
      updatedAt: ctx.now,
    })
    .returning({ id: views.id })
  const view = await findView(ctx, (row as { id: string }).id)
  ctx.emit(viewCreated, viewEvent(view))
  return toView(ctx, view)
})

const requireSharing = async (ctx: Ctx, place: Pick<Row, 'organizationId' | 'projectId'>): Promise<void> =>
  place.projectId
    ? projects.requireWriter(ctx, place, 'Sharing a view')
    : requireRole(ctx.actor, place.organizationId, 'member', 'Sharing a view')

const viewEvent = (view: Row) => ({
  subjectId: view.id,
  organizationId: view.organizationId,
  projectId: view.projectId,
  userId: view.createdById,
  data: { name: view.name, shared: view.shared },
})

export const update = write(
  'views.update',
  viewWriteRule,
  async (ctx, { id, ...patch }: ViewPatch & { id: string }): Promise<View> => {
    const before = await findView(ctx, id)
    throwIfRefused(changeRefusal(ctx, before))
    checkVersion(ctx, before)
    if (patch.shared && !before.shared) await requireSharing(ctx, before)
    await updateVersioned(ctx, views, {
      columns: { id: views.id, version: views.version },
      before,
      set: { ...patch, ...(patch.name !== undefined && { name: patch.name.trim() }) },
      what: 'this view',
      again: () => findView(ctx, id),
    })
    const after = await findView(ctx, id)
    ctx.emit(viewUpdated, viewEvent(after))
    return toView(ctx, after)
  },
  { versioned: true },
)

export const remove = write(
  'views.remove',
  viewWriteRule,
  async (ctx, { id }: { id: string }): Promise<{ id: string; deleted: true }> => {
    const view = await findView(ctx, id)
    throwIfRefused(changeRefusal(ctx, view))
    checkVersion(ctx, view)
    await ctx.db.delete(views).where(eq(views.id, id))
    ctx.emit(viewDeleted, viewEvent(view))
    return { id, deleted: true }
  },
  { destructive: true, versioned: true },
)
