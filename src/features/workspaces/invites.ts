import { eq, sql } from 'drizzle-orm'
import { type Ctx, read, write } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { byRow, roleRefusal, throwIfRefused } from '../../auth/policy.ts'
import { and } from '../../db/conditions.ts'
import { AppError, notFound } from '../../errors.ts'
import { daysAfter } from '../../records/days.ts'
import { countInvite } from '../invites/service.ts'
import { oneLine } from '../mail/message.ts'
import { queueMail } from '../mail/service.ts'
import { notify, settleNotifications } from '../notifications/service.ts'
import { byEmail } from '../users/service.ts'
import { workspaceInviteCancelled, workspaceInviteCreated, workspaceInviteRenewed } from './events.ts'
import {
  closeInvite,
  invitePage,
  isInviteSentTo,
  isPending,
  listInvites,
  mailKind,
  selectInvites,
} from './invite-rows.ts'
import type {
  WorkspaceInvite,
  WorkspaceInviteCreate,
  WorkspaceInvitePage,
  WorkspaceInviteQuery,
  WorkspaceInviteSent,
} from './invite-schema.ts'
import { archivedRefusal, shareRefusal, workspaceWriteRule } from './refusals.ts'
import { findWorkspace } from './rows.ts'
import { workspaceInvites, workspaces } from './table.ts'

/**
 * Invitations to a workspace, sent by the owning team. An invitation names the e-mail address of a person, never a
 * team: a sender who could name teams could find out which exist. The response is the same whether or not the address
 * has an account, and whether or not its owner administers a team.
 */

const DAYS = 14

export const listWorkspaceInvites = read(
  'workspaces.listInvites',
  byRow('workspaces:read'),
  async (ctx, { id, ...query }: WorkspaceInviteQuery & { id: string }): Promise<WorkspaceInvitePage> => {
    const { organizationId } = await findWorkspace(ctx, id)
    throwIfRefused(roleRefusal(ctx.actor, organizationId, 'viewer', 'Reading the invitations to a workspace'))
    return listInvites(ctx, query, eq(workspaceInvites.workspaceId, id))
  },
)

/** Invites a person to bring one of their teams in. Renews a pending invitation to the same address. */
export const inviteToWorkspace = write(
  'workspaces.invite',
  workspaceWriteRule,
  async (ctx, { id, email, role }: WorkspaceInviteCreate & { id: string }): Promise<WorkspaceInviteSent> => {
    const workspace = await findWorkspace(ctx, id)
    throwIfRefused(shareRefusal(ctx, workspace))
    throwIfRefused(archivedRefusal(workspace))
    const known = await byEmail(ctx, email)
    if (known && known.id === ctx.actor.userId)
      throw new AppError(
        'conflict',
        'This is your own address. Add your team to the workspace directly, without an invitation.',
        {
          next: [{ route: `POST /api/workspaces/${id}/teams`, command: 'tutti workspaces add <workspace> <team>' }],
        },
      )
    await countInvite(ctx, workspace.organizationId, email)
    const { inviteId, isNew } = await storeInvite(ctx, { id, email, role })
    const [made] = (await selectInvites(ctx, eq(workspaceInvites.id, inviteId))) as [WorkspaceInvite]
    const title = `${oneLine(ctx.actor.name)} invites a team of yours to the workspace ${oneLine(workspace.name)}`
    await queueMail(ctx, { ...mailAbout(ctx, made), to: made.email, subject: title })
    await settleNotifications(ctx, { id: inviteId, reasons: ['invite'] })
    // The owner of an account with an unconfirmed address must not learn who writes to that address.
    if (known?.emailVerifiedAt && known.status === 'active')
      await notify(ctx, {
        userId: known.id,
        reason: 'invite',
        title,
        link: invitePage(inviteId),
        about: { kind: 'invite', id: inviteId },
      })
    ctx.emit(isNew ? workspaceInviteCreated : workspaceInviteRenewed, {
      subjectId: inviteId,
      organizationId: workspace.organizationId,
      data: { name: workspace.name, email, role },
    })
    return { ...made, link: `${ctx.app.url}${invitePage(inviteId)}`, mailed: ctx.app.config.SMTP_URL !== undefined }
  },
)

async function storeInvite(ctx: Ctx, { id, email, role }: WorkspaceInviteCreate & { id: string }) {
  const expiresAt = daysAfter(ctx.now, DAYS)
  const values = { role, invitedById: userIdOf(ctx.actor), expiresAt, updatedAt: ctx.now }
  // The lock keeps two invitations to one address from being stored at once.
  await ctx.db.select({ id: workspaces.id }).from(workspaces).where(eq(workspaces.id, id)).for('update')
  const [renewed] = await ctx.db
    .update(workspaceInvites)
    .set({ ...values, version: sql`${workspaceInvites.version} + 1` })
    .where(and(eq(workspaceInvites.workspaceId, id), isInviteSentTo(email), isPending))
    .returning({ id: workspaceInvites.id })
  if (renewed) return { inviteId: renewed.id, isNew: false }
  const [made] = await ctx.db
    .insert(workspaceInvites)
    .values({ ...values, workspaceId: id, email, createdAt: ctx.now })
    .returning({ id: workspaceInvites.id })
  if (!made) throw new Error('insert returned nothing')
  return { inviteId: made.id, isNew: true }
}

const mailAbout = (ctx: Ctx, { id, workspace, role, expiresAt }: WorkspaceInvite) => ({
  kind: mailKind(workspace.id),
  lines: [
    `${oneLine(ctx.actor.name)} of ${oneLine(workspace.organization.name)} invites a team that you administer to the ` +
      `workspace ${oneLine(workspace.name)}, as ${role}.`,
    'If you accept, you choose the team. Its members then see the projects in the workspace, and your team can put ' +
      'projects of its own into it.',
  ],
  button: { label: 'See the invitation', url: `${ctx.app.url}${invitePage(id)}` },
  notes: [
    `The invitation expires in ${DAYS} days. It works for the account with this address. If you do not know the ` +
      'sender, ignore this mail: nothing happens unless you accept.',
  ],
  expiresAt,
})

export const cancelInvite = write(
  'workspaces.cancelInvite',
  workspaceWriteRule,
  async (ctx, { id, inviteId }: { id: string; inviteId: string }): Promise<{ id: string; deleted: true }> => {
    throwIfRefused(shareRefusal(ctx, await findWorkspace(ctx, id)))
    const which = and(eq(workspaceInvites.id, inviteId), eq(workspaceInvites.workspaceId, id), isPending)
    const [found] = await selectInvites(ctx, which)
    if (!found) throw notFound('invite', inviteId)
    await closeInvite(ctx, found, { status: 'cancelled', event: workspaceInviteCancelled })
    return { id: inviteId, deleted: true }
  },
  { destructive: true },
)

/** Cancels the pending invitations to the workspaces that match. */
export async function cancelAllInvites(ctx: Ctx, which: ReturnType<typeof eq>): Promise<void> {
  const found = await selectInvites(ctx, and(which, isPending), { orderBy: [], limit: 10_000 })
  for (const one of found) await closeInvite(ctx, one, { status: 'cancelled', event: workspaceInviteCancelled })
}
