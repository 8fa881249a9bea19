import type { Ctx } from '../../action.ts'
import { byRow, isAtLeast, permissionOf, type Refusal, roleRefusal, ruleRefusal } from '../../auth/policy.ts'
import type { Workspace, WorkspaceDetail } from './schema.ts'

/** Refusals of changes to a workspace: the actions throw them, and permissions list them. */

export const workspaceWriteRule = byRow('workspaces:write')

export const createRefusal = ({ actor }: Ctx, team: string): Refusal | undefined =>
  roleRefusal(actor, team, 'member', 'Creating a workspace')

export const updateRefusal = ({ role }: Workspace): Refusal | undefined =>
  isAtLeast(role, 'member') ? undefined : { code: 'forbidden', detail: 'You have read-only access to this workspace.' }

/** The status limits the access of other teams, so only the owning team can set it. */
export const statusRefusal = ({ actor }: Ctx, { organizationId }: Workspace): Refusal | undefined =>
  roleRefusal(actor, organizationId, 'member', 'Archiving or reactivating a workspace')

export const removeRefusal = ({ actor }: Ctx, { createdById, organizationId }: Workspace): Refusal | undefined =>
  roleRefusal(actor, organizationId, createdById === actor.userId ? 'member' : 'admin', 'Deleting this workspace')

export const shareRefusal = ({ actor }: Ctx, { organizationId }: Workspace): Refusal | undefined =>
  roleRefusal(actor, organizationId, 'admin', 'Sharing a workspace')

export const archivedRefusal = ({ status }: Workspace): Refusal | undefined =>
  status === 'archived' ? { code: 'conflict', detail: 'This workspace is archived. Reactivate it first.' } : undefined

/** Admins of the owning team and of the team itself may remove a team, except the owning team. */
export const removeTeamRefusal = ({ actor }: Ctx, { organizationId }: Workspace, team: string): Refusal | undefined =>
  (isAtLeast(actor.memberships.get(team), 'admin')
    ? undefined
    : roleRefusal(actor, organizationId, 'admin', 'Removing a team from a workspace')) ??
  (team === organizationId
    ? {
        code: 'conflict',
        detail: 'This team owns the workspace, so it cannot be removed. Delete the workspace instead.',
      }
    : undefined)

/** Returns what the caller may do with a workspace and with each of its teams, for surfaces that offer actions. */
export function workspacePermissions(ctx: Ctx, workspace: Workspace): Pick<WorkspaceDetail, 'can' | 'teams'> {
  const permission = (action: string, refusal: Refusal | undefined) =>
    permissionOf(ruleRefusal(ctx.actor, workspaceWriteRule, `workspaces.${action}`, ctx.app.clock) ?? refusal)
  const share = permission('addTeam', shareRefusal(ctx, workspace) ?? archivedRefusal(workspace))
  const owns = { code: 'conflict', detail: 'This team owns the workspace, so its role cannot change.' } as const
  return {
    can: {
      update: permission('update', updateRefusal(workspace)),
      archive: permission('update', statusRefusal(ctx, workspace)),
      remove: permission('remove', removeRefusal(ctx, workspace)),
      share,
    },
    teams: workspace.teams.map((team) => ({
      ...team,
      can: {
        setRole: team.id === workspace.organizationId && share === true ? owns : share,
        remove: permission('removeTeam', removeTeamRefusal(ctx, workspace, team.id)),
      },
    })),
  }
}
