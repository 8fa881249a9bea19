import { type Ctx, write } from '../../action.ts'
import { member, requireRole, throwIfRefused } from '../../auth/policy.ts'
import { notFound } from '../../errors.ts'
import { requirePlanRoom } from '../organizations/plans.ts'
import { projectShared } from './events.ts'
import { projectMoved } from './hooks.ts'
import { freeKey, freeSlug, lockTeam } from './names.ts'
import { changeProjectRecords } from './project-records.ts'
import { moveRefusal } from './refusals.ts'
import { changeProject, findOwnProject, projectEvent } from './rows.ts'
import type { Project, ProjectMove } from './schema.ts'
import { update } from './service.ts'
import { findTeamRole } from './sharing.ts'

/** Changes the given fields of a project; `organizationId` moves it to another team. */
export const patch = write(
  'projects.patch',
  member('projects:write'),
  async (ctx, { ref, organizationId, ...fields }: ProjectMove & { ref: string }): Promise<Project> => {
    if (organizationId === undefined) return update(ctx, { ref, ...fields })
    if (Object.keys(fields).length === 0) return move(ctx, ref, organizationId)
    const { id } = await update(ctx, { ref, ...fields })
    return move({ ...ctx, expectedVersion: undefined }, id, organizationId)
  },
  { versioned: true },
)

/**
 * Moves a project and everything in it to another team of the caller. It gets a free slug and key there, keeps its
 * visibility, and leaves its workspace unless the other team may write there too.
 */
async function move(ctx: Ctx, ref: string, organizationId: string): Promise<Project> {
  const before = await findOwnProject(ctx, ref, 'Moving this project')
  if (organizationId === before.organizationId) return before
  if (!ctx.actor.memberships.has(organizationId)) throw notFound('organization', organizationId)
  throwIfRefused(moveRefusal(ctx, before))
  requireRole(ctx.actor, organizationId, 'member', 'Moving a project to that team')
  const stays = await staysInWorkspace(ctx, before, organizationId)
  await lockTeam(ctx, organizationId)
  await requirePlanRoom(ctx, organizationId, 'projects')
  const placed = {
    organizationId,
    slug: await freeSlug(ctx, organizationId, before.name),
    key: await freeKey(ctx, organizationId, before.name),
    ...(!stays && { workspaceId: null }),
  }
  await changeProjectRecords(ctx, { ...before, organizationId }, { organizationId })
  await projectMoved.call(ctx, { projectId: before.id, organizationId })
  const moved = await changeProject(ctx, before, placed)
  ctx.emit(projectShared, projectEvent(moved, { from: before.organizationId }))
  return moved
}

async function staysInWorkspace(ctx: Ctx, { workspaceId }: Project, organizationId: string): Promise<boolean> {
  const part = workspaceId === null ? undefined : await findTeamRole(ctx, workspaceId, organizationId)
  return part !== undefined && part.role !== 'viewer' && part.status === 'active'
}
