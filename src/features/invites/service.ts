import { and, eq, gt, sql } from 'drizzle-orm'
import { type Ctx, read, write } from '../../action.ts'
import { inPerson, userIdOf } from '../../auth/actor.ts'
import { countAttempt } from '../../auth/limits.ts'
import { authorize, byRow, type Role, requireRole } from '../../auth/policy.ts'
import { hashSecret, newSecret } from '../../auth/secrets.ts'
import { connectionOf } from '../../db/session.ts'
import { AppError, notFound } from '../../errors.ts'
import { oneLine } from '../mail/message.ts'
import { queueMail } from '../mail/service.ts'
import { notifyOwners } from '../notifications/owners.ts'
import { notify, settle } from '../notifications/service.ts'
import { makingManagers, manages, teamPage } from '../organizations/managers.ts'
import * as members from '../organizations/members.ts'
import { requirePlanRoom } from '../organizations/plans.ts'
import * as teams from '../organizations/service.ts'
import { byEmail } from '../users/service.ts'
import { inviteCreated, inviteRenewed, inviteWithdrawn } from './events.ts'
import { close, listOpen, mailKind, memberOf, open, type Row, roleToInvite, select, sentTo, shown } from './rows.ts'
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
    return listOpen(ctx, query, eq(invites.organizationId, id))
  },
)

export const create = write(
  'invites.create',
  byRow('organizations:write'),
  async (ctx, { id, ...input }: InviteCreate & { id: string }): Promise<InviteSent> => {
    const organization = await teams.get(ctx, { id })
    requireRole(ctx.actor, id, roleToInvite(input.role ?? 'member'), 'Inviting')
    return send(ctx, organization, input)
  },
  { secret: ['link'] },
)

/**
 * Sends an invite in the caller's transaction. The caller has checked the right to invite. An open invite is renewed,
 * and its old link stops working. Without a mail server the result has the link for the inviter to hand over, but only
 * at a browser: with the link a program could register as a person of its own.
 */
export async function send(
  ctx: Ctx,
  organization: { id: string; name: string },
  { email, role = 'member' }: InviteCreate,
): Promise<InviteSent> {
  if (manages(role))
    authorize(ctx.actor, makingManagers(organization.id), `Inviting somebody as ${role}`, ctx.app.clock)
  await members.lock(ctx, organization.id)
  const known = await byEmail(ctx, email)
  if (known && (await memberOf(ctx, organization.id, known.id)))
    throw new AppError('conflict.exists', `${email} is already a member.`)
  await countSent(ctx, organization.id, email)
  const token = newSecret('invite')
  const expiresAt = new Date(Date.parse(ctx.now) + DAYS * 86_400_000).toISOString()
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
    .where(and(eq(invites.organizationId, organization.id), sentTo(email), open))
    .returning(shape)
  if (!renewed) await requirePlaceFor(ctx, organization.id)
  const [fresh] = renewed
    ? []
    : await ctx.db
        .insert(invites)
        .values({ ...values, email, organizationId: organization.id, createdAt: ctx.now })
        .returning(shape)
  const invite = (renewed ?? fresh) as { id: string; email: string }
  const subject = `${oneLine(ctx.actor.name)} invites you to ${oneLine(organization.name)}`
  await queueMail(ctx, { ...mailOf(ctx, organization, { role, token, expiresAt }), to: invite.email, subject })
  await tellInvited(ctx, { known, inviteId: invite.id, title: subject })
  if (manages(role))
    await notifyOwners(ctx, organization.id, userIdOf(ctx.actor), {
      title: `Somebody was invited as ${role} of ${oneLine(organization.name)}`,
      message: `${oneLine(ctx.actor.name)} invited ${email}.`,
    })
  ctx.emit(renewed ? inviteRenewed : inviteCreated, {
    subjectId: invite.id,
    organizationId: organization.id,
    data: { email, role },
  })
  const [made] = await select(ctx).where(eq(invites.id, invite.id))
  const byHand = inPerson(ctx.actor) ? { link: linkOf(ctx, token) } : { detail: linkKept(ctx, organization.id) }
  return { ...shown(made as Row), ...(handedOver && byHand) }
}

/** Requires that the plan has room for everybody who is invited: otherwise the last one could not accept. */
async function requirePlaceFor(ctx: Ctx, organizationId: string): Promise<void> {
  const waiting = and(eq(invites.organizationId, organizationId), open, gt(invites.expiresAt, ctx.now))
  const reserved = { count: await ctx.db.$count(invites, waiting), name: 'open invitation' }
  await requirePlanRoom(ctx, organizationId, 'members', { reserved })
}

/** Notifies whom the address belongs to; a renewed invite replaces the earlier notification. */
async function tellInvited(
  ctx: Ctx,
  { known, inviteId, title }: { known: Awaited<ReturnType<typeof byEmail>>; inviteId: string; title: string },
): Promise<void> {
  await settle(ctx, { id: inviteId, reasons: ['invite'] })
  // The owner of an account with an unconfirmed address must not learn who writes to that address.
  if (!known?.emailVerifiedAt || known.status !== 'active') return
  const about = { kind: 'invite' as const, id: inviteId }
  await notify(ctx, { userId: known.id, reason: 'invite', title, link: '/inbox', about })
}

const linkKept = ({ app }: Ctx, organizationId: string): string =>
  'This server sends no mail. It shows the link of an invitation only to a person at a browser: get a new one at ' +
  `${app.url}${teamPage(organizationId)}. Whoever runs the server can also read it with \`tutti outbox\` and pass it on.`

const linkOf = ({ app }: Ctx, token: string): string => `${app.url}/invite#${token}`

const mailOf = (
  ctx: Ctx,
  { id, name }: { id: string; name: string },
  { role, token, expiresAt }: { role: Role; token: string; expiresAt: string },
) => ({
  kind: mailKind(id),
  lines: [`${oneLine(ctx.actor.name)} invites you to work in ${oneLine(name)} as ${role}.`],
  button: { label: 'See the invitation', url: linkOf(ctx, token) },
  notes: [
    `The link works for ${DAYS} days. If you do not know the sender, ignore this mail: nothing happens without you.`,
  ],
  expiresAt,
})

export const withdraw = write(
  'invites.withdraw',
  byRow('organizations:write'),
  async (ctx, { id, inviteId }: { id: string; inviteId: string }): Promise<{ id: string; deleted: true }> => {
    await teams.get(ctx, { id })
    await members.lock(ctx, id)
    const [found] = await select(ctx).where(and(eq(invites.id, inviteId), eq(invites.organizationId, id), open))
    if (!found) throw notFound('invite', inviteId)
    requireRole(ctx.actor, id, roleToInvite(found.role), 'Withdrawing this invite')
    await close(ctx, found, { closedAt: ctx.now }, inviteWithdrawn)
    return { id: inviteId, deleted: true }
  },
  { destructive: true },
)

/** Counts an invitation by mail. Counts in the transaction, so that only sent ones count. */
export async function countSent(ctx: Ctx, organizationId: string, email: string): Promise<void> {
  const limits: [string, number][] = [
    [`invites:${organizationId}`, MOST.team],
    [`invites-by:${userIdOf(ctx.actor)}`, MOST.inviter],
    [`invites-to:${hashSecret(email.toLowerCase())}`, MOST.address],
  ]
  for (const [key, limit] of limits)
    await countAttempt(connectionOf(ctx.db), key, limit, 86_400, new Date(ctx.now), 'invites')
}
