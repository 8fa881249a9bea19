import { eq } from 'drizzle-orm'
import { type Ctx, write } from '../../action.ts'
import { isAtLeast, throwIfRefused } from '../../auth/policy.ts'
import { and } from '../../db/conditions.ts'
import { AppError, notFound } from '../../errors.ts'
import { workspaceShared, workspaceUnshared } from './events.ts'
import { archivedRefusal, removeTeamRefusal, shareRefusal, workspaceWriteRule } from './refusals.ts'
import { changeWorkspaceRow, findWorkspace, projectsLeave, workspaceEvents } from './rows.ts'
import type { TeamAdd, Workspace, WorkspaceTeam } from './schema.ts'
import { workspaceTeams } from './table.ts'

/**
 * Adds a team, or changes the role of a team in the workspace. Adding needs the team's consent: the caller is also its
 * admin, or an admin of it accepts an invitation (`invites.ts`). The owning team alone decides the role of a team that
 * is in the workspace.
 */
export const addTeam = write(
  'workspaces.addTeam',
  workspaceWriteRule,
  async (ctx, { id, teamId, role }: TeamAdd & { id: string }): Promise<WorkspaceTeam> => {
    const before = await findWorkspace(ctx, id)
    throwIfRefused(shareRefusal(ctx, before))
    const already = before.teams.some((team) => team.id === teamId)
    if (!already && !isAtLeast(ctx.actor.memberships.get(teamId), 'admin')) throw notAdministered(id, teamId)
    if (teamId === before.organizationId)
      throw new AppError('conflict', 'This team owns the workspace, so its role cannot change.')
    throwIfRefused(archivedRefusal(before))
    return joinTeam(ctx, before, { teamId, role })
  },
)

/** A team that the caller does not administer can only be invited. */
function notAdministered(workspaceId: string, teamId: string): AppError {
  const { code, message, details } = notFound('team', teamId, 'among those you administer')
  const way = {
    route: `POST /api/workspaces/${workspaceId}/invites`,
    command: 'tutti workspaces invite <workspace> <email>',
  }
  return new AppError(code, message, { ...details, next: [way] })
}

/** Adds a team or changes its role. The calling code has checked the permission. */
export async function joinTeam(ctx: Ctx, before: Workspace, { teamId, role }: TeamAdd): Promise<WorkspaceTeam> {
  const { id } = before
  await changeWorkspaceRow(ctx, before, {})
  await ctx.db
    .insert(workspaceTeams)
    .values({ workspaceId: id, organizationId: teamId, role, addedAt: ctx.now })
    .onConflictDoUpdate({ target: [workspaceTeams.workspaceId, workspaceTeams.organizationId], set: { role } })
  const after = await findWorkspace(ctx, id)
  for (const about of workspaceEvents(after, { teamId, role })) ctx.emit(workspaceShared, about)
  return after.teams.find((team) => team.id === teamId) as WorkspaceTeam
}

/** Removes a team and its projects from the workspace. */
export const removeTeam = write(
  'workspaces.removeTeam',
  workspaceWriteRule,
  async (ctx, { id, teamId }: { id: string; teamId: string }): Promise<{ id: string; deleted: true }> => {
    const before = await findWorkspace(ctx, id)
    if (!before.teams.some((team) => team.id === teamId)) throw notFound('team', teamId, 'in this workspace')
    throwIfRefused(removeTeamRefusal(ctx, before, teamId))
    await changeWorkspaceRow(ctx, before, {})
    await ctx.db
      .delete(workspaceTeams)
      .where(and(eq(workspaceTeams.workspaceId, id), eq(workspaceTeams.organizationId, teamId)))
    await projectsLeave.call(ctx, { id, teamId })
    for (const about of workspaceEvents(before, { teamId })) ctx.emit(workspaceUnshared, about)
    return { id: teamId, deleted: true }
  },
  { destructive: true },
)
