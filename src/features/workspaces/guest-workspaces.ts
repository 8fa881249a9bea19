import { eq, gt, isNull, ne, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import { and } from '../../db/conditions.ts'
import { countHoldings } from '../accounts/hooks.ts'
import { onPersonalReclaimed } from '../organizations/hooks.ts'
import * as members from '../organizations/members.ts'
import { workspaceUnshared } from './events.ts'
import { isPending } from './invite-rows.ts'
import { cancelAllInvites } from './invites.ts'
import { changeWorkspaceRow, projectsLeave, selectWorkspaces, workspaceEvents } from './rows.ts'
import { workspaceInvites, workspaces, workspaceTeams } from './table.ts'

/** Guests that a former holder of an account let into the workspaces of its personal space. */

const selectTeamWorkspaces = (ctx: Ctx, organizationId: string) =>
  selectWorkspaces(ctx, and(eq(workspaces.organizationId, organizationId), isNull(workspaces.deletedAt)), [], 10_000)

/** Counts the other teams in these workspaces, and the open invitations to them. */
export const countWorkspaceGuests = countHoldings.handle(async (ctx, { userId }) => {
  const home = await members.personalOrganizationOf(ctx, userId)
  if (!home) return {}
  const teams = (await selectTeamWorkspaces(ctx, home))
    .flatMap((workspace) => workspace.teams)
    .filter(({ id }) => id !== home)
  const here = sql`${workspaceInvites.workspaceId} in (select id from ${workspaces}
    where ${workspaces.organizationId} = ${home}::uuid)`
  const invited = await ctx.db.$count(workspaceInvites, and(isPending, gt(workspaceInvites.expiresAt, ctx.now), here))
  return { guests: teams.length + invited }
})

/** Removes other teams from these workspaces, and cancels the invitations to them. */
export const removeWorkspaceGuests = onPersonalReclaimed.handle(async (ctx, { organizationId }) => {
  await cancelAllInvites(ctx, eq(workspaces.organizationId, organizationId))
  for (const workspace of await selectTeamWorkspaces(ctx, organizationId)) {
    const guests = workspace.teams.filter(({ id }) => id !== organizationId)
    if (guests.length === 0) continue
    await changeWorkspaceRow(ctx, workspace, {})
    const isGuest = ne(workspaceTeams.organizationId, organizationId)
    await ctx.db.delete(workspaceTeams).where(and(eq(workspaceTeams.workspaceId, workspace.id), isGuest))
    for (const { id: teamId } of guests) {
      await projectsLeave.call(ctx, { id: workspace.id, teamId })
      for (const about of workspaceEvents(workspace, { teamId })) ctx.emit(workspaceUnshared, about)
    }
  }
})
