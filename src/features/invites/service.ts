import { and, eq, gt, sql } from 'drizzle-orm'
import { type Ctx, read, write } from '../../action.ts'
import { isInPerson, userIdOf } from '../../auth/actor.ts'
import { countAttempt } from '../../auth/limits.ts'
import { minutesAfter } from '../../auth/one-time-secrets.ts'
import { authorize, byRow, type Role, requireRole } from '../../auth/policy.ts'
import { hashSecret, newSecret } from '../../auth/secrets.ts'
import { connectionOf } from '../../db/session.ts'
import { AppError, notFound } from '../../errors.ts'
import { oneLine } from '../mail/message.ts'
import { queueMail } from '../mail/service.ts'
import { notifyOwners } from '../notifications/owners.ts'
import { notify, settleNotifications } from '../notifications/service.ts'
import { isManager, makeManagerRule, teamPage } from '../organizations/managers.ts'
import * as members from '../organizations/members.ts'
import { requirePlanRoom } from '../organizations/plans.ts'
import * as teams from '../organizations/service.ts'
import { byEmail } from '../users/service.ts'
import { inviteCreated, inviteRenewed, inviteWithdrawn } from './events.ts'
import {
  closeTeamInvite,
  findMembership,
  type InviteRow,
  isOpenInvite,
  isSentTo,
  listOpenInvites,
  mailKind,
  roleToInvite,
  selectTeamInvites,
  toInvite,
} from './rows.ts'
import type { InviteCreate, InvitePage, InviteQuery, InviteSent } from './schema.ts'
import { invites } from './table.ts'

const DAYS = 14
/** Invites in 24 hours: from one team, by one user, to one address. */
const MOST = { team: 50, inviter: 50, address: 10 }

export const list = read(
  'invites.list',
  byRow('organizations:read'),
  async (ctx, { id, ...query }: InviteQuery & { id: string }): Promise<InvitePage> => {
    await teams.get(ctx, { id })
    return listOpenInvites(ctx, query, eq(invites.organizationId, id))
  },
)

export const create = write(
  'invites.create',
  byRow('organizations:write'),
  async (ctx, { id, ...input }: InviteCreate & { id: string }): Promise<InviteSent> => {
    const organization = await teams.get(ctx, { id })
    requireRole(ctx.actor, id, roleToInvite(input.role ?? 'member'), 'Inviting')
    return sendInvite(ctx, organization, input)
  },
  { secret: ['link'] },
)

/**
 * Sends an invite in the caller's transaction. The caller has checked the right to invite. An open invite is renewed,
 * and its old link stops working. Without a mail server the result has the link for the inviter to pass on, but only in
 * a browser: a program could use it to register an account of its own.
 */
export async function sendInvite(
  ctx: Ctx,
  organization: { id: string; name: string },
  { email, role = 'member' }: InviteCreate,
): Promise<InviteSent> {
  if (isManager(role))
    authorize(ctx.actor, makeManagerRule(organization.id), `Inviting someone as ${role}`, ctx.app.clock)
  await members.lockOrganization(ctx, organization.id)
  const known = await byEmail(ctx, email)
  if (known && (await findMembership(ctx, organization.id, known.id)))
    throw new AppError('conflict.exists', `${email} is already a member.`)
  await countInvite(ctx, organization.id, email)
  const token = newSecret('invite')
  const expiresAt = minutesAfter(ctx.now, DAYS * 24 * 60)
  const handedOver = ctx.app.config.SMTP_URL === undefined
  const values = {
    role,
    hash: hashSecret(token),
    handedOver,
    invitedById: userIdOf(ctx.actor),
    expiresAt,
    updatedAt: ctx.now,
  }
  const shape = { id: invites.id, email: invites.email }
  const [renewed] = await ctx.db
    .update(invites)
    .set({ ...values, version: sql`${invites.version} + 1` })
    .where(and(eq(invites.organizationId, organization.id), isSentTo(email), isOpenInvite))
    .returning(shape)
  if (!renewed) await requireRoomForInvites(ctx, organization.id)
  const [fresh] = renewed
    ? []
    : await ctx.db
        .insert(invites)
        .values({ ...values, email, organizationId: organization.id, createdAt: ctx.now })
        .returning(shape)
  const invite = (renewed ?? fresh) as { id: string; email: string }
  const subject = `${oneLine(ctx.actor.name)} invites you to ${oneLine(organization.name)}`
  await queueMail(ctx, { ...inviteMail(ctx, organization, { role, token, expiresAt }), to: invite.email, subject })
  await notifyInvited(ctx, { known, inviteId: invite.id, title: subject })
  if (isManager(role))
    await notifyOwners(ctx, organization.id, userIdOf(ctx.actor), {
      title: `New invitation: ${role} of ${oneLine(organization.name)}`,
      message: `${oneLine(ctx.actor.name)} invited ${email}.`,
    })
  ctx.emit(renewed ? inviteRenewed : inviteCreated, {
    subjectId: invite.id,
    organizationId: organization.id,
    data: { email, role },
  })
  const [made] = await selectTeamInvites(ctx).where(eq(invites.id, invite.id))
  const byHand = isInPerson(ctx.actor) ? { link: inviteLink(ctx, token) } : { detail: linkDetail(ctx, organization.id) }
  return { ...toInvite(made as InviteRow), ...(handedOver && byHand) }
}

/** Requires room in the plan for all open invites: otherwise the last person could not accept. */
async function requireRoomForInvites(ctx: Ctx, organizationId: string): Promise<void> {
  const waiting = and(eq(invites.organizationId, organizationId), isOpenInvite, gt(invites.expiresAt, ctx.now))
  const reserved = { count: await ctx.db.$count(invites, waiting), name: 'open invitation' }
  await requirePlanRoom(ctx, organizationId, 'members', { reserved })
}

/** Notifies the owner of the address. A renewed invite replaces the earlier notification. */
async function notifyInvited(
  ctx: Ctx,
  { known, inviteId, title }: { known: Awaited<ReturnType<typeof byEmail>>; inviteId: string; title: string },
): Promise<void> {
  await settleNotifications(ctx, { id: inviteId, reasons: ['invite'] })
  // Someone who registered an address that is not theirs must not learn who invites its owner.
  if (!known?.emailVerifiedAt || known.status !== 'active') return
  const about = { kind: 'invite' as const, id: inviteId }
  await notify(ctx, { userId: known.id, reason: 'invite', title, link: '/inbox', about })
}

const linkDetail = ({ app }: Ctx, organizationId: string): string =>
  'This server sends no mail, and shows the link of an invitation only in a browser. Get a new link at ' +
  `${app.url}${teamPage(organizationId)}. The operator of the server can also read the link with \`tutti outbox\`.`

const inviteLink = ({ app }: Ctx, token: string): string => `${app.url}/invite#${token}`

const inviteMail = (
  ctx: Ctx,
  { id, name }: { id: string; name: string },
  { role, token, expiresAt }: { role: Role; token: string; expiresAt: string },
) => ({
  kind: mailKind(id),
  lines: [`${oneLine(ctx.actor.name)} invites you to join the team ${oneLine(name)} as ${role}.`],
  button: { label: 'View the invitation', url: inviteLink(ctx, token) },
  notes: [`The link expires after ${DAYS} days. If you do not know the sender, you can ignore this mail.`],
  expiresAt,
})

export const withdraw = write(
  'invites.withdraw',
  byRow('organizations:write'),
  async (ctx, { id, inviteId }: { id: string; inviteId: string }): Promise<{ id: string; deleted: true }> => {
    await teams.get(ctx, { id })
    await members.lockOrganization(ctx, id)
    const [found] = await selectTeamInvites(ctx).where(
      and(eq(invites.id, inviteId), eq(invites.organizationId, id), isOpenInvite),
    )
    if (!found) throw notFound('invite', inviteId)
    requireRole(ctx.actor, id, roleToInvite(found.role), 'Withdrawing this invite')
    await closeTeamInvite(ctx, found, { closedAt: ctx.now }, inviteWithdrawn)
    return { id: inviteId, deleted: true }
  },
  { destructive: true },
)

/** Limits invitations by mail. Counts in the transaction, so that only sent ones count. */
export async function countInvite(ctx: Ctx, organizationId: string, email: string): Promise<void> {
  const limits: [string, number][] = [
    [`invites:${organizationId}`, MOST.team],
    [`invites-by:${userIdOf(ctx.actor)}`, MOST.inviter],
    [`invites-to:${hashSecret(email.toLowerCase())}`, MOST.address],
  ]
  for (const [key, limit] of limits)
    await countAttempt(connectionOf(ctx.db), key, limit, 86_400, new Date(ctx.now), 'invites')
}
