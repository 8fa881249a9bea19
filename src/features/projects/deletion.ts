import { and, desc, eq, isNull, or, type SQL, sql } from 'drizzle-orm'
import { type Ctx, checkVersion, write } from '../../action.ts'
import { currentOrganization } from '../../auth/actor.ts'
import { member, requireRole } from '../../auth/policy.ts'
import { rightsOf } from '../../auth/rights.ts'
import { notFound } from '../../errors.ts'
import { requireRestorer } from '../../records/restoring.ts'
import { byReference, deletedLately } from '../../records/rows.ts'
import { requirePlanRoom } from '../organizations/plans.ts'
import { ifThere } from './current.ts'
import { projectDeleted, projectRestored } from './events.ts'
import { changeInside } from './inside.ts'
import { freeKey, freeSlug, takeTurns } from './names.ts'
import { about, change, isOfCaller, ours, visible } from './rows.ts'
import type { Project } from './schema.ts'
import { archive } from './service.ts'
import { projects } from './table.ts'

/** Soft-deletes a project with everything in it. Its slug and key can then be used again. */
export const remove = write(
  'projects.remove',
  member('projects:write'),
  async (ctx, { ref }: { ref: string }): Promise<{ id: string; deleted: true }> => {
    const before = await ours(ctx, ref, 'Deleting this project')
    const gone = { deletedAt: ctx.now, updatedAt: ctx.now }
    await changeInside(ctx, before, gone, (table) => isNull(table.deletedAt))
    ctx.emit(projectDeleted, about(await change(ctx, before, gone)))
    return { id: before.id, deleted: true }
  },
  { destructive: true, versioned: true },
)

/** Unarchives a project, or restores a deleted one with everything deleted with it. */
export const restore = write(
  'projects.restore',
  member('projects:write'),
  async (ctx, { ref }: { ref: string }): Promise<Project> => {
    const there = await ifThere(ctx, ref)
    if (there) return archive(ctx, { ref: there.id, restore: true })
    const { deletedAt, ...before } = await deletedOne(ctx, ref)
    requireRole(ctx.actor, before.organizationId, 'member', 'Restoring a deleted project')
    await requireRestorer(ctx, { ...before, deletedAt }, projectDeleted, 'Restoring a deleted project')
    checkVersion(ctx, before)
    await takeTurns(ctx, before.organizationId)
    await requirePlanRoom(ctx, before.organizationId, 'projects')
    const names = await freeNames(ctx, before)
    await changeInside(ctx, before, { deletedAt: null }, (table) => eq(table.deletedAt, deletedAt))
    const after = await change(ctx, before, { ...names, deletedAt: null })
    ctx.emit(projectRestored, about(after, { deletedAt }))
    return after
  },
  { idempotent: true, versioned: true },
)

/** Finds a deleted project by id; or by slug or key, the most recently deleted one in the current team. */
async function deletedOne(ctx: Ctx, ref: string): Promise<Project & { deletedAt: string }> {
  const rights = rightsOf(ctx.actor)
  const select = (match: SQL | undefined) =>
    ctx.db
      .select({ ...visible, deletedAt: sql<string>`${projects.deletedAt}`.mapWith(projects.deletedAt) })
      .from(projects)
      .where(and(match, deletedLately(projects.deletedAt, ctx.now), isOfCaller(rights)))
      .orderBy(desc(projects.deletedAt))
      .limit(1)
      .for('update')
  const found = await byReference(ref, {
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
async function freeNames(
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
