import { and, count, eq, gt, isNull, ne, or, type SQL, sql } from 'drizzle-orm'
import { type Ctx, read, write } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { countAttempt } from '../../auth/limits.ts'
import { account, anyone, atLeast, person, type Role, requireRecent, requireRole } from '../../auth/policy.ts'
import { hashSecret, kindOf, newSecret } from '../../auth/secrets.ts'
import { connectionOf } from '../../db/session.ts'
import { AppError, invalid, notFound } from '../../errors.ts'
import { keyset } from '../../records/page.ts'
import { mayRegister, onRegistered } from '../accounts/hooks.ts'
import { oneLine } from '../mail/message.ts'
import { queueMail, wipeMail } from '../mail/service.ts'
import { notify } from '../notifications/service.ts'
import { personalReclaimed } from '../organizations/hooks.ts'
import * as members from '../organizations/members.ts'
import type { Organization } from '../organizations/schema.ts'
import * as teams from '../organizations/service.ts'
import { memberships, organizations } from '../organizations/table.ts'
import { userEmailVerified } from '../users/events.ts'
import type { User } from '../users/schema.ts'
import { byEmail, visible as userColumns } from '../users/service.ts'
import { users } from '../users/table.ts'
import { inviteAccepted, inviteCreated, inviteDeclined, inviteRenewed, inviteWithdrawn } from './events.ts'
import type { Invite, InviteCreate, InvitePage, InvitePreview, InviteQuery } from './schema.ts'
import { invites } from './table.ts'

const DAYS = 14
/** A day: from one team, by one person, to one address. */
const MOST = { team: 50, inviter: 50, address: 10 }

const visible = {
  id: invites.id,
  createdAt: invites.createdAt,
  updatedAt: invites.updatedAt,
  version: invites.version,
  organization: { id: organizations.id, name: organizations.name },
  email: invites.email,
  role: invites.role,
  invitedBy: { id: users.id, name: users.name },
  expiresAt: invites.expiresAt,
  acceptedAt: invites.acceptedAt,
}

/** Neither accepted nor declined nor withdrawn; it may have run out. */
const open = and(isNull(invites.acceptedAt), isNull(invites.closedAt))
const sentTo = (email: string) => eq(sql`lower(${invites.email})`, email.toLowerCase())

const select = (ctx: Ctx) =>
  ctx.db
    .select({ ...visible, closedAt: invites.closedAt })
    .from(invites)
    .innerJoin(organizations, and(eq(organizations.id, invites.organizationId), isNull(organizations.deletedAt)))
    .leftJoin(users, eq(users.id, invites.invitedById))
    .$dynamic()
type Row = Invite & { closedAt: string | null }

const shown = ({ closedAt: _, ...invite }: Row): Invite => invite

/** The team is part of it: a new link wipes the old one's mail, and must not wipe what another team has sent. */
const mailKind = (organizationId: string): string => `invite:${organizationId}`

// ---- the team's side

async function page(ctx: Ctx, query: InviteQuery, ...filters: (SQL | undefined)[]): Promise<InvitePage> {
  const keys = keyset({ createdAt: invites.createdAt }, invites.id, query, { sort: 'createdAt' })
  const rows = await select(ctx)
    .where(keys.where(open, ...filters))
    .orderBy(...keys.orderBy)
    .limit(keys.limit)
  const total = query.total
    ? (
        await ctx.db
          .select({ n: count() })
          .from(invites)
          .innerJoin(organizations, and(eq(organizations.id, invites.organizationId), isNull(organizations.deletedAt)))
          .where(and(open, ...filters))
      )[0]?.n
    : undefined
  const found = keys.page(rows, total)
  return { ...found, items: found.items.map(shown) }
}

export const list = read(
  'invites.list',
  account('organizations:read'),
  async (ctx, { id, ...query }: InviteQuery & { id: string }): Promise<InvitePage> => {
    await teams.get(ctx, { id })
    return page(ctx, query, eq(invites.organizationId, id))
  },
)

/** Who may give a role now, and must still be able to when it is taken. */
const roleToInvite = (role: Role): Role => (role === 'owner' ? 'owner' : 'admin')

export const create = write(
  'invites.create',
  account('organizations:write'),
  async (ctx, { id, ...input }: InviteCreate & { id: string }): Promise<Invite> => {
    const organization = await teams.get(ctx, { id })
    requireRole(ctx.actor, id, roleToInvite(input.role ?? 'member'), 'Inviting')
    return send(ctx, organization, input)
  },
)

/** In the running transaction. Whoever calls has checked that the caller may invite. An open invite is renewed: its old link dies. */
export async function send(
  ctx: Ctx,
  organization: { id: string; name: string },
  { email, role = 'member' }: InviteCreate,
): Promise<Invite> {
  await members.lock(ctx, organization.id)
  const known = await byEmail(ctx, email)
  if (known && (await memberOf(ctx, organization.id, known.id)))
    throw new AppError('conflict.exists', `${email} is a member already.`)
  await countSent(ctx, organization.id, email)
  const token = newSecret('invite')
  const expiresAt = new Date(Date.parse(ctx.now) + DAYS * 86_400_000).toISOString()
  const values = { role, hash: hashSecret(token), invitedById: userIdOf(ctx.actor), expiresAt, updatedAt: ctx.now }
  const shape = { id: invites.id, email: invites.email }
  const [renewed] = await ctx.db
    .update(invites)
    .set({ ...values, version: sql`${invites.version} + 1` })
    .where(and(eq(invites.organizationId, organization.id), sentTo(email), open))
    .returning(shape)
  const [fresh] = renewed
    ? []
    : await ctx.db
        .insert(invites)
        .values({ ...values, email, organizationId: organization.id, createdAt: ctx.now })
        .returning(shape)
  const invite = (renewed ?? fresh) as { id: string; email: string }
  const [inviter, team] = [oneLine(ctx.actor.name), oneLine(organization.name)]
  await queueMail(ctx, {
    to: invite.email,
    kind: mailKind(organization.id),
    subject: `${inviter} invites you to ${team}`,
    lines: [`${inviter} invites you to work in ${team} as ${role}.`],
    button: { label: 'See the invitation', url: `${ctx.app.url}/invite#${token}` },
    notes: [
      `The link works for ${DAYS} days. If you do not know what this is about, ignore this mail: nothing happens without you.`,
    ],
    expiresAt,
  })
  // Who never proved that the address is his must not learn from here who writes to it.
  if (known?.emailVerifiedAt && known.status === 'active')
    await notify(ctx, {
      userId: known.id,
      reason: 'invite',
      title: `${inviter} invites you to ${team}`,
      link: '/account',
    })
  ctx.emit(renewed ? inviteRenewed : inviteCreated, {
    subjectId: invite.id,
    organizationId: organization.id,
    data: { email, role },
  })
  const [made] = await select(ctx).where(eq(invites.id, invite.id))
  return shown(made as Row)
}

export const withdraw = write(
  'invites.withdraw',
  account('organizations:write'),
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

// ---- the receiver's side

const me = async (ctx: Ctx): Promise<User> => {
  const [user] = await ctx.db
    .select(userColumns)
    .from(users)
    .where(eq(users.id, userIdOf(ctx.actor)))
  return user as User
}

/** None for an address that was never proved: anybody may have typed it. */
export const mine = read(
  'invites.mine',
  account('account:read'),
  async (ctx, query: InviteQuery): Promise<InvitePage> => {
    const user = await me(ctx)
    const proved = !!user.emailVerifiedAt && !ctx.actor.bound
    return page(ctx, query, sentTo(user.email), gt(invites.expiresAt, ctx.now), proved ? undefined : sql`false`)
  },
)

export const preview = read(
  'invites.preview',
  anyone,
  async (ctx, { token }: { token: string }): Promise<InvitePreview> => {
    const { organization, email, role, invitedBy, expiresAt } = await usable(ctx, await byToken(ctx, token))
    return {
      organization: { name: organization.name },
      email,
      role,
      invitedBy: invitedBy && { name: invitedBy.name },
      expiresAt,
    }
  },
)

export const accept = write(
  'invites.accept',
  person,
  async (ctx, { token }: { token: string }): Promise<Organization> => {
    const user = await me(ctx)
    const invite = await claim(ctx, user, token)
    if (!user.emailVerifiedAt) {
      // The link proves the mailbox, and a recent sign-in that its holder made this account: no stranger's is taken for his.
      requireRecent(ctx.actor, 15, 'Accepting with an address that is not confirmed yet', ctx.app.clock())
      await ctx.db
        .update(users)
        .set({ emailVerifiedAt: ctx.now, updatedAt: ctx.now, version: sql`${users.version} + 1` })
        .where(eq(users.id, user.id))
      ctx.emit(userEmailVerified, { subjectId: user.id, userId: user.id })
    }
    await take(ctx, invite, user.id)
    return teams.joined(ctx, invite.organization.id)
  },
)

export const decline = write(
  'invites.decline',
  person,
  async (ctx, { token }: { token: string }): Promise<{ id: string; declined: true }> => {
    const invite = await claim(ctx, await me(ctx), token)
    await close(ctx, invite, { closedAt: ctx.now }, inviteDeclined)
    return { id: invite.id, declined: true }
  },
)

export const inviteHooks = [
  personalReclaimed.handle(async (ctx, { organizationId }) => {
    await ctx.db
      .update(invites)
      .set({ closedAt: ctx.now, updatedAt: ctx.now })
      .where(and(eq(invites.organizationId, organizationId), open))
  }),
  mayRegister.handle(async (ctx, { email, inviteToken }) => {
    const invite = await usable(ctx, await byToken(ctx, inviteToken))
    if (!sameAddress(invite, email))
      throw invalid('/email', 'This invitation was sent to another address. Register with that one.')
    return true
  }),
  onRegistered.handle(async (ctx, { user, inviteToken }) => {
    await take(ctx, await claim(ctx, user, inviteToken), user.id)
  }),
]

const gone = () =>
  new AppError('gone', 'This invitation was used, withdrawn or replaced, or has expired. Ask for a new one.')
const unknown = () =>
  new AppError('not_found', 'There is no such invitation for you. It works for the address that it was sent to.')

/** A link that looks like ours and is not there any more has been replaced. */
async function byToken(ctx: Ctx, token: string): Promise<Row | undefined> {
  if (kindOf(token) !== 'invite') throw unknown()
  return (await select(ctx).where(eq(invites.hash, hashSecret(token))))[0]
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const sameAddress = (invite: Row, email: string): boolean => invite.email.toLowerCase() === email.toLowerCase()

/** By the mailed token, which proves the mailbox, or by id for whoever has proved it before. */
async function addressedTo(ctx: Ctx, user: User, ref: string): Promise<Row> {
  const byId = uuid.test(ref)
  const found = byId ? (await select(ctx).where(eq(invites.id, ref)))[0] : await byToken(ctx, ref)
  if (!found && !byId) throw gone()
  if (!found || !sameAddress(found, user.email) || (byId && !user.emailVerifiedAt)) throw unknown()
  return found
}

/** As it is while nobody else can change it: of two who use it at once, the second comes too late. */
async function claim(ctx: Ctx, user: User, ref: string): Promise<Row> {
  await members.lock(ctx, (await addressedTo(ctx, user, ref)).organization.id)
  return usable(ctx, await addressedTo(ctx, user, ref))
}

/** Open, in time, and given by somebody who could give it today. */
async function usable(ctx: Ctx, invite: Row | undefined): Promise<Row> {
  if (!invite || invite.acceptedAt || invite.closedAt || invite.expiresAt <= ctx.now) throw gone()
  const inviter = invite.invitedBy ? await memberOf(ctx, invite.organization.id, invite.invitedBy.id) : undefined
  if (inviter?.status !== 'active' || !atLeast(inviter.role, roleToInvite(invite.role))) throw gone()
  return invite
}

async function take(ctx: Ctx, invite: Row, userId: string): Promise<void> {
  await members.join(ctx, { id: invite.organization.id, userId, role: invite.role })
  await close(ctx, invite, { acceptedAt: ctx.now }, inviteAccepted)
}

async function close(
  ctx: Ctx,
  invite: Row,
  how: { acceptedAt: string } | { closedAt: string },
  event: typeof inviteAccepted,
): Promise<void> {
  await ctx.db
    .update(invites)
    .set({ ...how, updatedAt: ctx.now, version: sql`${invites.version} + 1` })
    .where(eq(invites.id, invite.id))
  await wipeMail(ctx, invite.email, mailKind(invite.organization.id))
  ctx.emit(event, {
    subjectId: invite.id,
    organizationId: invite.organization.id,
    data: { email: invite.email, role: invite.role },
  })
}

async function memberOf(ctx: Ctx, organizationId: string, userId: string) {
  const [found] = await ctx.db
    .select({ role: memberships.role, status: users.status })
    .from(memberships)
    .innerJoin(users, eq(users.id, memberships.userId))
    .where(and(eq(memberships.organizationId, organizationId), eq(memberships.userId, userId)))
  return found
}

/** In the running transaction, so that only invites that were sent count. */
async function countSent(ctx: Ctx, organizationId: string, email: string): Promise<void> {
  const limits: [string, number][] = [
    [`invites:${organizationId}`, MOST.team],
    [`invites-by:${userIdOf(ctx.actor)}`, MOST.inviter],
    [`invites-to:${hashSecret(email.toLowerCase())}`, MOST.address],
  ]
  for (const [key, limit] of limits)
    await countAttempt(connectionOf(ctx.db), key, limit, 86_400, new Date(ctx.now), 'invites')
}

/** Whether somebody who could still do so today has invited this address: then it may get in where others may not register. */
export async function isInvited(ctx: Ctx, email: string): Promise<boolean> {
  const inviter = and(
    eq(memberships.organizationId, invites.organizationId),
    eq(memberships.userId, invites.invitedById),
  )
  const couldGive = or(eq(memberships.role, 'owner'), and(eq(memberships.role, 'admin'), ne(invites.role, 'owner')))
  const [found] = await ctx.db
    .select({ id: invites.id })
    .from(invites)
    .innerJoin(organizations, and(eq(organizations.id, invites.organizationId), isNull(organizations.deletedAt)))
    .innerJoin(memberships, inviter)
    .innerJoin(users, and(eq(users.id, memberships.userId), eq(users.status, 'active')))
    .where(and(open, sentTo(email), gt(invites.expiresAt, ctx.now), couldGive))
    .limit(1)
  return found !== undefined
}
