import { count, desc, eq, isNull, ne, type SQL } from 'drizzle-orm'
import { type Ctx, checkVersion, read, write } from '../../action.ts'
import { currentOrganization } from '../../auth/actor.ts'
import { anyone, atLeast, member, requireRole, requireRoleOn } from '../../auth/policy.ts'
import { type Rights, rightsOf } from '../../auth/rights.ts'
import { anyOf, matches } from '../../db/columns.ts'
import { and, or } from '../../db/conditions.ts'
import { notFound } from '../../errors.ts'
import { feedColumns, feedEntry, isToldTo } from '../../events/feed.ts'
import { events } from '../../events/table.ts'
import { keyset } from '../../records/page.ts'
import { byReference, changeVersioned, idStarts } from '../../records/rows.ts'
import { organizations } from '../organizations/table.ts'
import { users } from '../users/table.ts'
import { workspaces } from '../workspaces/table.ts'
import { projectArchived, projectCreated, projectRestored, projectUpdated } from './events.ts'
import { projectStats } from './hooks.ts'
import { freeKey, freeSlug, takeTurns } from './names.ts'
import type {
  Project,
  ProjectCreate,
  ProjectDetail,
  ProjectPage,
  ProjectPatch,
  ProjectQuery,
  PublicProject,
} from './schema.ts'
import { projects } from './table.ts'
import { checkProjectSettings, requireGatekeeper } from './workflow-settings.ts'

export const visible = {
  id: projects.id,
  createdAt: projects.createdAt,
  updatedAt: projects.updatedAt,
  version: projects.version,
  organizationId: projects.organizationId,
  createdById: projects.createdById,
  workspaceId: projects.workspaceId,
  name: projects.name,
  slug: projects.slug,
  key: projects.key,
  description: projects.description,
  visibility: projects.visibility,
  status: projects.status,
  archivedAt: projects.archivedAt,
  settings: projects.settings,
}

const live = isNull(projects.deletedAt)

/** A private project is visible to its creator and the organization's admins and owners, any other to all members. */
export const openTo = (rights: Rights): SQL =>
  or(
    ne(projects.visibility, 'private'),
    eq(projects.createdById, rights.user),
    anyOf(projects.organizationId, rights.managed),
  )

/** Projects of the caller's organizations, and those in workspaces shared with them. */
export const visibleTo = (rights: Rights): SQL =>
  and(
    live,
    anyOf(projects.organizationId, rights.reach),
    or(
      and(anyOf(projects.organizationId, rights.organizations), openTo(rights)),
      and(anyOf(projects.workspaceId, rights.workspaces), ne(projects.visibility, 'private')),
    ),
  )

/**
 * Finds a project by id in any organization of the caller, or by slug, key or unique id prefix in the current one.
 * In a write it locks the project until the transaction ends. Moving or deleting it (`update`) thus waits for writes
 * that add records to it, and later writes see its new place, or not_found.
 */
export async function find(ctx: Ctx, ref: string, hold: 'key share' | 'update' = 'key share'): Promise<Project> {
  const select = (match: SQL | undefined) => {
    const found = ctx.db
      .select(visible)
      .from(projects)
      .where(and(match, visibleTo(rightsOf(ctx.actor))))
      .$dynamic()
    return ctx.unit ? found.for(hold) : found
  }
  const here = () => eq(projects.organizationId, currentOrganization(ctx.actor))
  const found = await byReference<Project>(ref, {
    id: (id) => select(eq(projects.id, id)),
    name: (name) =>
      select(and(here(), or(eq(projects.slug, name.toLowerCase()), eq(projects.key, name.toUpperCase()))))
        // `TUT` is the key of one project, `tut` may be the slug of another.
        .orderBy(desc(eq(projects.key, name)), desc(eq(projects.slug, name.toLowerCase())))
        .limit(1),
    prefix: (prefix) => select(and(here(), idStarts(projects.id, prefix))).limit(2),
  })
  if (!found) throw notFound('project', ref)
  return found
}

/**
 * For references from other records: the caller must see the project, and it must belong to that organization (or its
 * twin), which the caller is already known to reach.
 */
export async function inOrganization(ctx: Ctx, id: string, organizationId: string): Promise<Project> {
  const [found] = await ctx.db
    .select(visible)
    .from(projects)
    .where(and(eq(projects.id, id), eq(projects.organizationId, organizationId), live, openTo(rightsOf(ctx.actor))))
  if (!found) throw notFound('project', id)
  return found
}

/** Requires the right to change records of a project, or of the organization itself. */
export async function requireWriter(
  ctx: Ctx,
  { organizationId, projectId }: { organizationId: string; projectId: string | null },
  what: string,
): Promise<void> {
  if (atLeast(ctx.actor.memberships.get(organizationId), 'member')) return
  if (projectId) requireRoleOn(ctx.actor, await find(ctx, projectId), 'member', what)
  else requireRole(ctx.actor, organizationId, 'member', what)
}

async function writable(ctx: Ctx, ref: string, hold?: 'update'): Promise<Project> {
  const found = await find(ctx, ref, hold)
  requireRoleOn(ctx.actor, found, 'member', 'Changing this project')
  return found
}

/** Lists the projects in a place (a team or workspace) that the caller may see. */
export async function listIn(ctx: Ctx, place: SQL, query: ProjectQuery): Promise<ProjectPage> {
  const page = keyset(
    { updatedAt: projects.updatedAt, createdAt: projects.createdAt, name: projects.name },
    projects.id,
    query,
    {
      sort: 'updatedAt',
    },
  )
  const filters = [
    visibleTo(rightsOf(ctx.actor)),
    place,
    eq(projects.status, query.status ?? 'active'),
    query.search ? matches(projects.search, query.search) : undefined,
  ]
  const rows = await ctx.db
    .select(visible)
    .from(projects)
    .where(page.where(...filters))
    .orderBy(...page.orderBy)
    .limit(page.limit)
  const total = query.total
    ? (
        await ctx.db
          .select({ n: count() })
          .from(projects)
          .where(and(...filters))
      )[0]?.n
    : undefined
  return page.page(rows, total)
}

export const list = read(
  'projects.list',
  member('projects:read'),
  (ctx, query: ProjectQuery): Promise<ProjectPage> =>
    listIn(ctx, eq(projects.organizationId, currentOrganization(ctx.actor)), query),
)

async function statsOf(ctx: Ctx, projectId: string): Promise<ProjectDetail['stats']> {
  const counted = await projectStats.call(ctx, { projectId })
  return Object.assign({ notes: 0, tasks: 0, tasksDone: 0 }, ...counted)
}

export const get = read(
  'projects.get',
  member('projects:read'),
  async (ctx, { ref }: { ref: string }): Promise<ProjectDetail> => {
    const project = await find(ctx, ref)
    const recent = await ctx.db
      .select(feedColumns)
      .from(events)
      // Leaves out activity from before a move between teams: it names people and records that stayed in the old team.
      .where(
        and(
          eq(events.projectId, project.id),
          eq(events.organizationId, project.organizationId),
          isToldTo(rightsOf(ctx.actor).user),
        ),
      )
      .orderBy(desc(events.seq))
      .limit(10)
    const recentActivity = recent.map((event) => feedEntry(ctx.app.events, event))
    return { ...project, stats: await statsOf(ctx, project.id), recentActivity }
  },
)

export const create = write(
  'projects.create',
  member('projects:write'),
  async (ctx, input: ProjectCreate): Promise<Project> => {
    const organizationId = currentOrganization(ctx.actor)
    checkProjectSettings(input.settings)
    requireGatekeeper(ctx.actor, { organizationId, createdById: ctx.actor.userId, settings: {} }, input.settings)
    await takeTurns(ctx, organizationId)
    const [project] = await ctx.db
      .insert(projects)
      .values({
        organizationId,
        createdById: ctx.actor.userId,
        name: input.name.trim(),
        slug: await freeSlug(ctx, organizationId, input.name),
        key: await freeKey(ctx, organizationId, input.name, input.key),
        description: input.description,
        visibility: input.visibility ?? 'team',
        settings: input.settings ?? {},
        createdAt: ctx.now,
        updatedAt: ctx.now,
      })
      .returning(visible)
    if (!project) throw new Error('insert returned nothing')
    ctx.emit(projectCreated, about(project))
    return project
  },
)

/** The slug stays when the name changes, so that links keep working. */
export const update = write(
  'projects.update',
  member('projects:write'),
  async (ctx, { ref, ...patch }: ProjectPatch & { ref: string }): Promise<Project> => {
    const before = await writable(ctx, ref)
    checkVersion(ctx, before)
    checkProjectSettings(patch.settings)
    requireGatekeeper(ctx.actor, before, patch.settings)
    if (patch.key && patch.key !== before.key) {
      await takeTurns(ctx, before.organizationId)
      await freeKey(ctx, before.organizationId, before.name, patch.key)
    }
    const set = patch.name === undefined ? patch : { ...patch, name: patch.name.trim() }
    const after = await change(ctx, before, set)
    ctx.emit(projectUpdated, about(after, { fields: Object.keys(patch) }))
    return after
  },
  { versioned: true },
)

export const archive = write(
  'projects.archive',
  member('projects:write'),
  async (ctx, { ref, restore = false }: { ref: string; restore?: boolean }): Promise<Project> => {
    const before = await writable(ctx, ref)
    checkVersion(ctx, before)
    const status = restore ? 'active' : 'archived'
    if (before.status === status) return before
    const after = await change(ctx, before, { status, archivedAt: restore ? null : ctx.now })
    ctx.emit(restore ? projectRestored : projectArchived, about(after))
    return after
  },
  { idempotent: true, versioned: true },
)

/**
 * Finds a project and requires rights in its own team, which decides who sees it, where it is, and when it is deleted.
 * A right through a shared workspace is not enough, not even for an author who has left the team.
 */
export async function ours(ctx: Ctx, ref: string, what: string): Promise<Project> {
  const found = await writable(ctx, ref, 'update')
  requireRole(ctx.actor, found.organizationId, found.createdById === ctx.actor.userId ? 'member' : 'admin', what)
  checkVersion(ctx, found)
  return found
}

export const getPublic = read(
  'projects.getPublic',
  anyone,
  async (ctx, { user, slug }: { user: string; slug: string }): Promise<PublicProject> => {
    const [found] = await ctx.db
      .select({ ...visible, ownerHandle: users.handle, ownerName: users.name })
      .from(projects)
      .innerJoin(users, eq(users.id, projects.createdById))
      .innerJoin(
        organizations,
        and(
          eq(organizations.id, projects.organizationId),
          isNull(organizations.deletedAt),
          isNull(organizations.sandboxOf),
        ),
      )
      .where(
        and(
          eq(users.handle, user.toLowerCase()),
          eq(projects.slug, slug.toLowerCase()),
          eq(projects.visibility, 'public'),
          live,
        ),
      )
      // A person may own this slug in two organizations; the older project keeps the address.
      .orderBy(projects.createdAt, projects.id)
      .limit(1)
    if (!found) throw notFound('project', `${user}/${slug}`)
    return {
      id: found.id,
      name: found.name,
      slug: found.slug,
      description: found.description,
      owner: { handle: found.ownerHandle, name: found.ownerName },
      archived: found.status === 'archived',
      stats: await statsOf(ctx, found.id),
      updatedAt: found.updatedAt,
    }
  },
)

type Change = Partial<typeof projects.$inferInsert>

export async function change(ctx: Ctx, before: Project, set: Change): Promise<Project> {
  const again = () => find(ctx, before.id)
  const after = await changeVersioned(ctx, projects, { columns: visible, before, set, what: 'this project', again })
  // Clients that keep a copy of the workspace that it left must see this change.
  if (before.workspaceId && after.workspaceId !== before.workspaceId)
    await ctx.db.update(workspaces).set({ updatedAt: ctx.now }).where(eq(workspaces.id, before.workspaceId))
  return after
}

export const about = <D extends object>(project: Project, data?: D) => ({
  subjectId: project.id,
  organizationId: project.organizationId,
  projectId: project.id,
  data: Object.assign({ name: project.name, slug: project.slug, version: project.version }, data),
})
