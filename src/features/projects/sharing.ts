import { and, eq, isNull } from 'drizzle-orm'
import { type Ctx, write } from '../../action.ts'
import { member, requireRole } from '../../auth/policy.ts'
import { AppError, notFound } from '../../errors.ts'
import { requirePlanRoom } from '../organizations/plans.ts'
import { organizations } from '../organizations/table.ts'
import { workspaces, workspaceTeams } from '../workspaces/table.ts'
import { projectShared, projectUnshared } from './events.ts'
import { projectMoved } from './hooks.ts'
import { changeInside } from './inside.ts'
import { freeKey, freeSlug, takeTurns } from './names.ts'
import { about, change, ours } from './rows.ts'
import type { Project, ProjectShare } from './schema.ts'

export const share = write(
  'projects.share',
  member('projects:write'),
  async (ctx, { ref, ...to }: ProjectShare & { ref: string }): Promise<Project> => {
    const before = await ours(ctx, ref, 'Sharing this project')
    const target = to.organizationId ?? before.organizationId
    const moves = target !== before.organizationId
    if (moves) {
      if (!ctx.actor.memberships.has(target)) throw notFound('organization', target)
      // Moving takes along everybody's work, and the old team cannot undo it.
      requireRole(ctx.actor, before.organizationId, 'admin', 'Moving a project to another team')
      requireRole(ctx.actor, target, 'member', 'Moving a project to that team')
    }
    if (to.workspaceId) await requireTakingPart(ctx, to.workspaceId, target)
    const inside = to.workspaceId === undefined ? {} : { workspaceId: to.workspaceId }
    // Moving into or out of a workspace does not change the visibility by itself.
    const visibility = to.visibility ?? (to.workspaceId === undefined ? 'team' : before.visibility)
    if (!moves) {
      const shared = await change(ctx, before, { visibility, ...inside })
      ctx.emit(projectShared, about(shared, { visibility, ...inside }))
      return shared
    }
    await takeTurns(ctx, target)
    await requirePlanRoom(ctx, target, 'projects')
    const placed = {
      organizationId: target,
      workspaceId: to.workspaceId ?? null,
      slug: await freeSlug(ctx, target, before.name),
      key: await freeKey(ctx, target, before.name),
    }
    await changeInside(ctx, { ...before, organizationId: target }, { organizationId: target })
    await projectMoved.call(ctx, { projectId: before.id, organizationId: target })
    const moved = await change(ctx, before, { ...placed, visibility })
    ctx.emit(projectShared, about(moved, { from: before.organizationId }))
    return moved
  },
  { versioned: true },
)

/** Requires that the team may write in the workspace and that it is not archived. */
async function requireTakingPart(ctx: Ctx, workspaceId: string, organizationId: string): Promise<void> {
  const [found] = await ctx.db
    .select({ status: workspaces.status, role: workspaceTeams.role })
    .from(workspaceTeams)
    .innerJoin(workspaces, and(eq(workspaces.id, workspaceTeams.workspaceId), isNull(workspaces.deletedAt)))
    .innerJoin(organizations, and(eq(organizations.id, workspaces.organizationId), isNull(organizations.deletedAt)))
    .where(and(eq(workspaceTeams.workspaceId, workspaceId), eq(workspaceTeams.organizationId, organizationId)))
    // The lock keeps the workspace from losing the team, or being archived, before the project is in.
    .for('share', { of: [workspaceTeams, workspaces] })
  if (!found) throw notFound('workspace', workspaceId)
  if (found.role === 'viewer')
    throw new AppError('forbidden', 'Your team has read-only access to this workspace. Ask the owning team for more.')
  if (found.status === 'archived') throw new AppError('conflict', 'This workspace is archived. Reactivate it first.')
}

/** Also takes it out of its workspace, so that sharing it with the team later does not show it to other teams again. */
export const unshare = write(
  'projects.unshare',
  member('projects:write'),
  async (ctx, { ref }: { ref: string }): Promise<Project> => {
    const before = await ours(ctx, ref, 'Unsharing this project')
    const after = await change(ctx, before, { visibility: 'private', workspaceId: null })
    ctx.emit(projectUnshared, about(after))
    return after
  },
  { idempotent: true, versioned: true },
)
