import { eq, sql } from 'drizzle-orm'
import { type Ctx, read, write } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import {
  account,
  isAtLeast,
  permissionOf,
  person,
  type Refusal,
  ruleRefusal,
  throwIfRefused,
} from '../../auth/policy.ts'
import { and } from '../../db/conditions.ts'
import { AppError, notFound } from '../../errors.ts'
import { findMembership } from '../invites/rows.ts'
import { oneLine } from '../mail/message.ts'
import { notify } from '../notifications/service.ts'
import type { User } from '../users/schema.ts'
import { userColumns } from '../users/service.ts'
import { users } from '../users/table.ts'
import { workspaceInviteAccepted, workspaceInviteDeclined } from './events.ts'
import { closeInvite, inviteGoneError, isInviteSentTo, listInvites, selectInvites } from './invite-rows.ts'
import type {
  MyWorkspaceInviteQuery,
  WorkspaceInvite,
  WorkspaceInviteAccept,
  WorkspaceInviteDetail,
  WorkspaceInvitePage,
} from './invite-schema.ts'
import { findForInvited, listAddableTeams } from './rows.ts'
import type { Workspace, WorkspaceTeam } from './schema.ts'
import { workspaceInvites, workspaces } from './table.ts'
import { joinTeam } from './teams.ts'

/** Invitations to workspaces, answered by the invited person. */

async function findCaller(ctx: Ctx): Promise<User> {
  const [user] = await ctx.db
    .select(userColumns)
    .from(users)
    .where(eq(users.id, userIdOf(ctx.actor)))
  return user as User
}

/** SQL condition: sent to the caller. False unless their address is confirmed: it may belong to someone else. */
async function isSentToCaller(ctx: Ctx) {
  const { email, emailVerifiedAt } = await findCaller(ctx)
  return emailVerifiedAt ? isInviteSentTo(email) : sql`false`
}

export const listMyInvites = read(
  'workspaces.myInvites',
  account('account:read'),
  async (ctx, query: MyWorkspaceInviteQuery): Promise<WorkspaceInvitePage> =>
    listInvites(ctx, query, await isSentToCaller(ctx)),
)

export const get = read(
  'workspaces.getInvite',
  account('account:read'),
  async (ctx, { id }: { id: string }): Promise<WorkspaceInviteDetail> => {
    const invite = await findOwnInvite(ctx, id)
    const workspace = await findForInvited(ctx, invite.workspace.id)
    const teams = await listAddableTeams(ctx, workspace)
    const closed: Refusal | undefined = (await isUsable(ctx, invite))
      ? undefined
      : { code: 'gone', detail: inviteGoneError().message }
    const noTeam: Refusal | undefined =
      teams.length > 0
        ? undefined
        : { code: 'forbidden', detail: 'To accept, you must administer a team that is not in this workspace yet.' }
    const permission = (action: string, refusal: Refusal | undefined) =>
      permissionOf(ruleRefusal(ctx.actor, person, `workspaces.${action}`, ctx.app.clock) ?? refusal)
    return {
      ...invite,
      teams,
      can: {
        accept: permission('acceptInvite', closed ?? archivedForInvited(workspace) ?? noTeam),
        decline: permission('declineInvite', closed),
      },
    }
  },
)

async function findOwnInvite(ctx: Ctx, id: string): Promise<WorkspaceInvite> {
  const [found] = await selectInvites(ctx, and(eq(workspaceInvites.id, id), await isSentToCaller(ctx)))
  if (!found) throw notFound('invite', id)
  return found
}

const archivedForInvited = ({ status }: Workspace): Refusal | undefined =>
  status === 'archived'
    ? { code: 'conflict', detail: 'This workspace is archived, so no team can join it now.' }
    : undefined

/** Whether the invitation is pending and its sender could still send it today. */
async function isUsable(ctx: Ctx, { status, invitedBy, workspace }: WorkspaceInvite): Promise<boolean> {
  if (status !== 'pending' || !invitedBy) return false
  const inviter = await findMembership(ctx, workspace.organization.id, invitedBy.id)
  return inviter?.status === 'active' && isAtLeast(inviter.role, 'admin')
}

/** Locks the workspace first, like every change of its teams or invitations. */
async function findUsable(ctx: Ctx, id: string): Promise<WorkspaceInvite> {
  const { workspace } = await findOwnInvite(ctx, id)
  await ctx.db.select({ id: workspaces.id }).from(workspaces).where(eq(workspaces.id, workspace.id)).for('update')
  const invite = await findOwnInvite(ctx, id)
  if (!(await isUsable(ctx, invite))) throw inviteGoneError()
  return invite
}

/** Brings a team that the caller administers into the workspace. */
export const acceptInvite = write(
  'workspaces.acceptInvite',
  person,
  async (ctx, { id, teamId }: WorkspaceInviteAccept & { id: string }): Promise<WorkspaceTeam> => {
    const invite = await findUsable(ctx, id)
    if (!isAtLeast(ctx.actor.memberships.get(teamId), 'admin'))
      throw notFound('team', teamId, 'among those you administer')
    const workspace = await findForInvited(ctx, invite.workspace.id)
    throwIfRefused(archivedForInvited(workspace))
    if (workspace.teams.some((team) => team.id === teamId))
      throw new AppError('conflict.exists', 'This team is in the workspace already. Choose another one.')
    await closeInvite(ctx, invite, { status: 'accepted', teamId, event: workspaceInviteAccepted })
    const joined = await joinTeam(ctx, workspace, { teamId, role: invite.role })
    await notifyInviter(ctx, invite, `${oneLine(joined.name)} joined the workspace ${oneLine(workspace.name)}`)
    return joined
  },
)

export const declineInvite = write(
  'workspaces.declineInvite',
  person,
  async (ctx, { id }: { id: string }): Promise<{ id: string; declined: true }> => {
    const invite = await findUsable(ctx, id)
    await closeInvite(ctx, invite, { status: 'declined', event: workspaceInviteDeclined })
    const { name } = invite.workspace
    await notifyInviter(ctx, invite, `${invite.email} declined the invitation to the workspace ${oneLine(name)}`)
    return { id, declined: true }
  },
)

async function notifyInviter(ctx: Ctx, { invitedBy, workspace }: WorkspaceInvite, title: string): Promise<void> {
  if (invitedBy)
    await notify(ctx, { userId: invitedBy.id, reason: 'workspace', title, link: `/workspaces/${workspace.id}` })
}
