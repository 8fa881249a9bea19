import { and, desc, eq, isNull, or, type SQL, sql } from 'drizzle-orm'
import { type Ctx, checkVersion, write } from '../../action.ts'
import { currentOrganization } from '../../auth/actor.ts'
import { member, requireRole } from '../../auth/policy.ts'
import { rightsOf } from '../../auth/rights.ts'
import { notFound } from '../../errors.ts'
import { requireRestorer } from '../../records/restore-rights.ts'
import { findByReference, isRecentlyDeleted } from '../../records/rows.ts'
import { requirePlanRoom } from '../organizations/plans.ts'
import { findProjectIfVisible } from './current.ts'
import { projectDeleted, projectRestored } from './events.ts'
import { freeKey, freeSlug, lockTeam } from './names.ts'
import { changeProjectRecords } from './project-records.ts'
import { changeProject, findOwnProject, isProjectOfCaller, projectColumns, projectEvent } from './rows.ts'
import type { Project } from './schema.ts'
import { archive } from './service.ts'
import { projects } from './table.ts'

/** Soft-deletes a project with everything in it. Its slug and key can then be used again. */
export const remove = write(
  'projects.remove',
  member('projects:write'),
  async (ctx, { ref }: { ref: string }): Promise<{ id: string; deleted: true }> => {
    const before = await findOwnProject(ctx, ref, 'Deleting this project')
    const gone = { deletedAt: ctx.now, updatedAt: ctx.now }
    await changeProjectRecords(ctx, before, gone, (table) => isNull(table.deletedAt))
    ctx.emit(projectDeleted, projectEvent(await changeProject(ctx, before, gone)))
    return { id: before.id, deleted: true }
  },
  { destructive: true, versioned: true },
)

/** Unarchives a project, or restores a deleted one with everything deleted with it. */
export const restore = write(
  'projects.restore',
  member('projects:write'),
  async (ctx, { ref }: { ref: string }): Promise<Project> => {
    const there = await findProjectIfVisible(ctx, ref)
    if (there) return archive(ctx, { ref: there.id, restore: true })
    const { deletedAt, ...before } = await findDeletedProject(ctx, ref)
    requireRole(ctx.actor, before.organizationId, 'member', 'Restoring a deleted project')
    await requireRestorer(ctx, { ...before, deletedAt }, projectDeleted, 'Restoring a deleted project')
    checkVersion(ctx, before)
    await lockTeam(ctx, before.organizationId)
    await requirePlanRoom(ctx, before.organizationId, 'projects')
    const names = await availableNames(ctx, before)
    await changeProjectRecords(ctx, before, { deletedAt: null }, (table) => eq(table.deletedAt, deletedAt))
    const after = await changeProject(ctx, before, { ...names, deletedAt: null })
    ctx.emit(projectRestored, projectEvent(after, { deletedAt }))
    return after
  },
  { idempotent: true, versioned: true },
)

/** Finds a deleted project by id; or by slug or key, the most recently deleted one in the current team. */
async function findDeletedProject(ctx: Ctx, ref: string): Promise<Project & { deletedAt: string }> {
  const rights = rightsOf(ctx.actor)
  const select = (match: SQL | undefined) =>
    ctx.db
      .select({ ...projectColumns, deletedAt: sql<string>`${projects.deletedAt}`.mapWith(projects.deletedAt) })
      .from(projects)
      .where(and(match, isRecentlyDeleted(projects.deletedAt, ctx.now), isProjectOfCaller(rights)))
      .orderBy(desc(projects.deletedAt))
      .limit(1)
      .for('update')
  const found = await findByReference(ref, {
    id: (id) => select(eq(projects.id, id)),
    name: (name) =>
      select(
        and(
          eq(projects.organizationId, currentOrganization(ctx.actor)),
          or(eq(projects.slug, name.toLowerCase()), eq(projects.key, name.toUpperCase())),
        ),
      ),
    prefix: async () => [],
  })
  if (!found) throw notFound('project', ref)
  return found
}

/** Returns the old slug and key, or new ones if another project has taken them meanwhile. */
async function availableNames(
  ctx: Ctx,
  { organizationId, slug, key, name }: Project,
): Promise<Pick<Project, 'slug' | 'key'>> {
  const [taken] = await ctx.db
    .select({ id: projects.id })
    .from(projects)
    .where(and(eq(projects.organizationId, organizationId), eq(projects.key, key), isNull(projects.deletedAt)))
  return {
    slug: await freeSlug(ctx, organizationId, slug),
    key: taken ? await freeKey(ctx, organizationId, name) : key,
  }
}
