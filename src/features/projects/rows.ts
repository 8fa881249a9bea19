import { desc, eq, isNull, ne, type SQL } from 'drizzle-orm'
import { type Ctx, checkVersion } from '../../action.ts'
import { currentOrganization } from '../../auth/actor.ts'
import { limitRefusal } from '../../auth/limit.ts'
import {
  isAtLeast,
  type Refusal,
  requireRoleOn,
  roleRefusal,
  roleRefusalOn,
  throwIfRefused,
} from '../../auth/policy.ts'
import { type Rights, rightsOf } from '../../auth/rights.ts'
import { anyOf } from '../../db/columns.ts'
import { and, or } from '../../db/conditions.ts'
import { notFound } from '../../errors.ts'
import { mayRead } from '../../records/readable.ts'
import { findByReference, idStartsWith, updateVersioned } from '../../records/rows.ts'
import { workspaces } from '../workspaces/table.ts'
import type { Project } from './schema.ts'
import { projects } from './table.ts'

export const projectColumns = {
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
  color: projects.color,
  visibility: projects.visibility,
  status: projects.status,
  archivedAt: projects.archivedAt,
  settings: projects.settings,
}

const isLiveProject = isNull(projects.deletedAt)

/** A private project is visible to its creator and the organization's admins and owners, any other to all members. */
const isOpenTo = (rights: Rights): SQL =>
  or(
    ne(projects.visibility, 'private'),
    eq(projects.createdById, rights.user),
    anyOf(projects.organizationId, rights.managed),
  )

/**
 * Projects of the caller's organizations. A credential that is limited to projects sees only those in its list: it has
 * no `organizations`, and `reach` is its team, so it no longer sees a project that moved to another team.
 */
export const isProjectOfCaller = (rights: Rights): SQL =>
  and(
    anyOf(projects.organizationId, rights.reach),
    or(anyOf(projects.organizationId, rights.organizations), anyOf(projects.id, rights.projects)),
    isOpenTo(rights),
  )

/** Projects of the caller's organizations, and those in workspaces shared with them. */
export const visibleTo = (rights: Rights): SQL =>
  and(
    isLiveProject,
    anyOf(projects.organizationId, rights.reach),
    or(
      isProjectOfCaller(rights),
      and(anyOf(projects.workspaceId, rights.workspaces), ne(projects.visibility, 'private')),
    ),
  )

/** Returns the names of a project for the caller: without the scope to read projects, its key and id. */
export const projectNamesFor = (
  ctx: Ctx,
  { id, key, name, slug }: Pick<Project, 'id' | 'key' | 'name' | 'slug'>,
): Pick<Project, 'name' | 'slug'> => (mayRead(ctx, 'project') ? { name, slug } : { name: key, slug: id })

/**
 * Finds a project by id in any organization of the caller, or by slug, key or unique id prefix in the current one. In a
 * write it locks the project until the transaction ends: moving or deleting it (`update`) waits for writes that add
 * records to it, and later writes see its new team, or get not_found.
 */
export async function findProject(ctx: Ctx, ref: string, hold: 'key share' | 'update' = 'key share'): Promise<Project> {
  const select = (match: SQL | undefined) => {
    const found = ctx.db
      .select(projectColumns)
      .from(projects)
      .where(and(match, visibleTo(rightsOf(ctx.actor))))
      .$dynamic()
    return ctx.unit ? found.for(hold) : found
  }
  const here = () => eq(projects.organizationId, currentOrganization(ctx.actor))
  const found = await findByReference<Project>(ref, {
    id: (id) => select(eq(projects.id, id)),
    name: (name) =>
      select(and(here(), or(eq(projects.slug, name.toLowerCase()), eq(projects.key, name.toUpperCase()))))
        // `TUT` is the key of one project, `tut` may be the slug of another.
        .orderBy(desc(eq(projects.key, name)), desc(eq(projects.slug, name.toLowerCase())))
        .limit(1),
    prefix: (prefix) => select(and(here(), idStartsWith(projects.id, prefix))).limit(2),
  })
  if (!found) throw notFound('project', ref)
  return found
}

/** Returns the active projects of the caller's team, last changed first. */
export const listRecentProjects = (ctx: Ctx, most: number): Promise<Pick<Project, 'id' | 'key' | 'name'>[]> =>
  ctx.db
    .select({ id: projects.id, key: projects.key, name: projects.name })
    .from(projects)
    .where(
      and(
        eq(projects.organizationId, currentOrganization(ctx.actor)),
        eq(projects.status, 'active'),
        visibleTo(rightsOf(ctx.actor)),
      ),
    )
    .orderBy(desc(projects.updatedAt), desc(projects.id))
    .limit(most)

/**
 * For references from other records. The caller must see the project, and it must belong to that organization (or its
 * twin), which the caller is known to reach.
 */
export async function findInOrganization(ctx: Ctx, id: string, organizationId: string): Promise<Project> {
  const [found] = await ctx.db
    .select(projectColumns)
    .from(projects)
    .where(
      and(
        eq(projects.id, id),
        eq(projects.organizationId, organizationId),
        isLiveProject,
        isOpenTo(rightsOf(ctx.actor)),
      ),
    )
  if (!found) throw notFound('project', id)
  return found
}

interface Container {
  organizationId: string
  projectId: string | null
}

/** Returns why the caller may not change records of a project, or of the organization itself, or undefined. */
export async function writerRefusal(
  ctx: Ctx,
  { organizationId, projectId }: Container,
  what: string,
): Promise<Refusal | undefined> {
  const beyond = limitRefusal(ctx.actor, projectId, what)
  if (beyond) return beyond
  if (isAtLeast(ctx.actor.memberships.get(organizationId), 'member')) return undefined
  return projectId
    ? roleRefusalOn(ctx.actor, await findProject(ctx, projectId), 'member', what)
    : roleRefusal(ctx.actor, organizationId, 'member', what)
}

export const requireWriter = async (ctx: Ctx, container: Container, what: string): Promise<void> =>
  throwIfRefused(await writerRefusal(ctx, container, what))

export async function findWritableProject(ctx: Ctx, ref: string, hold?: 'update'): Promise<Project> {
  const found = await findProject(ctx, ref, hold)
  requireRoleOn(ctx.actor, found, 'member', 'Changing this project')
  return found
}

/** Returns why the caller is neither the project's creator nor an admin of its team, or undefined. */
export const ownRefusal = (
  { actor }: Pick<Ctx, 'actor'>,
  { organizationId, createdById }: Pick<Project, 'organizationId' | 'createdById'>,
  what: string,
): Refusal | undefined => {
  const own = createdById !== null && createdById === actor.userId
  return roleRefusal(actor, organizationId, own ? 'member' : 'admin', what)
}

/**
 * Finds a project and requires rights in its own team, which controls its visibility, place and deletion. Access
 * through a shared workspace is not enough, not even for an author who has left the team.
 */
export async function findOwnProject(ctx: Ctx, ref: string, what: string): Promise<Project> {
  const found = await findWritableProject(ctx, ref, 'update')
  throwIfRefused(ownRefusal(ctx, found, what))
  checkVersion(ctx, found)
  return found
}

type Change = Partial<typeof projects.$inferInsert>

export async function changeProject(ctx: Ctx, before: Project, set: Change): Promise<Project> {
  const again = () => findProject(ctx, before.id)
  const after = await updateVersioned(ctx, projects, {
    columns: projectColumns,
    before,
    set,
    what: 'this project',
    again,
  })
  // The workspace that the project left has changed, too: clients that keep a copy must read it again.
  if (before.workspaceId && after.workspaceId !== before.workspaceId)
    await ctx.db.update(workspaces).set({ updatedAt: ctx.now }).where(eq(workspaces.id, before.workspaceId))
  return after
}

export const projectEvent = <D extends object>(project: Project, data?: D) => ({
  subjectId: project.id,
  organizationId: project.organizationId,
  projectId: project.id,
  data: Object.assign({ name: project.name, slug: project.slug, version: project.version }, data),
})
