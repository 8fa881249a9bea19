import { and, eq, gt, isNull, ne, or, sql } from 'drizzle-orm'
import { type Ctx, read, write } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { account, anyone, isAtLeast, person, requireRecent } from '../../auth/policy.ts'
import { hashSecret, secretKind } from '../../auth/secrets.ts'
import { AppError, invalid } from '../../errors.ts'
import { countHoldings, mayRegister, onRegistered } from '../accounts/hooks.ts'
import { oneLine } from '../mail/message.ts'
import { notifyOwners } from '../notifications/owners.ts'
import { onPersonalReclaimed } from '../organizations/hooks.ts'
import { isManager } from '../organizations/managers.ts'
import * as members from '../organizations/members.ts'
import type { Organization } from '../organizations/schema.ts'
import * as teams from '../organizations/service.ts'
import { memberships, organizations } from '../organizations/table.ts'
import { userEmailVerified } from '../users/events.ts'
import type { User } from '../users/schema.ts'
import { userColumns } from '../users/service.ts'
import { users } from '../users/table.ts'
import { inviteAccepted, inviteDeclined } from './events.ts'
import {
  closeTeamInvite,
  findMembership,
  type InviteRow,
  isOpenInvite,
  isSentTo,
  listOpenInvites,
  roleToInvite,
  selectTeamInvites,
} from './rows.ts'
import type { InvitePage, InvitePreview, InviteQuery } from './schema.ts'
import { invites } from './table.ts'

const currentUser = async (ctx: Ctx): Promise<User> => {
  const [user] = await ctx.db
    .select(userColumns)
    .from(users)
    .where(eq(users.id, userIdOf(ctx.actor)))
  return user as User
}

/** Lists no invites for an unconfirmed address, which may belong to someone else. */
export const listMine = read(
  'invites.mine',
  account('account:read'),
  async (ctx, query: InviteQuery): Promise<InvitePage> => {
    const user = await currentUser(ctx)
    const confirmed = user.emailVerifiedAt ? undefined : sql`false`
    return listOpenInvites(ctx, query, isSentTo(user.email), gt(invites.expiresAt, ctx.now), confirmed)
  },
)

export const preview = read(
  'invites.preview',
  anyone,
  async (ctx, { token }: { token: string }): Promise<InvitePreview> => {
    const { organization, email, role, invitedBy, expiresAt } = await requireUsable(ctx, await findByToken(ctx, token))
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
    const user = await currentUser(ctx)
    const invite = await claimInvite(ctx, user, token)
    if (!user.emailVerifiedAt && !invite.handedOver) {
      // A mailed link proves access to the mailbox; a recent sign-in proves that the account is the caller's own.
      requireRecent(ctx.actor, 15, 'Accepting with an address that is not confirmed yet', ctx.app.clock())
      await ctx.db
        .update(users)
        .set({ emailVerifiedAt: ctx.now, updatedAt: ctx.now, version: sql`${users.version} + 1` })
        .where(eq(users.id, user.id))
      ctx.emit(userEmailVerified, { subjectId: user.id, userId: user.id })
    }
    await joinByInvite(ctx, invite, user)
    return teams.findJoined(ctx, invite.organization.id)
  },
)

export const decline = write(
  'invites.decline',
  person,
  async (ctx, { token }: { token: string }): Promise<{ id: string; declined: true }> => {
    const invite = await claimInvite(ctx, await currentUser(ctx), token)
    await closeTeamInvite(ctx, invite, { closedAt: ctx.now }, inviteDeclined)
    return { id: invite.id, declined: true }
  },
)

export const inviteHooks = [
  countHoldings.handle(async (ctx, { userId }) => {
    const home = await members.personalOrganizationOf(ctx, userId)
    const usable = and(isOpenInvite, gt(invites.expiresAt, ctx.now))
    return home ? { guests: await ctx.db.$count(invites, and(eq(invites.organizationId, home), usable)) } : {}
  }),
  onPersonalReclaimed.handle(async (ctx, { organizationId }) => {
    await ctx.db
      .update(invites)
      .set({ closedAt: ctx.now, updatedAt: ctx.now })
      .where(and(eq(invites.organizationId, organizationId), isOpenInvite))
  }),
  mayRegister.handle(async (ctx, { email, inviteToken }) => {
    const invite = await requireUsable(ctx, await findByToken(ctx, inviteToken))
    if (!sameAddress(invite, email))
      throw invalid('/email', 'This invitation was sent to another address. Register with that address.')
    return { provesMailbox: !invite.handedOver }
  }),
  onRegistered.handle(async (ctx, { user, inviteToken }) => {
    await joinByInvite(ctx, await claimInvite(ctx, user, inviteToken), user)
  }),
]

const usedInviteError = () =>
  new AppError(
    'gone',
    'This invitation was already used, withdrawn or replaced, or has expired. Ask the team for a new one.',
  )
const unknownInviteError = () =>
  new AppError(
    'not_found',
    'You have no such invitation. An invitation works only for the address that it was sent to.',
  )

/** Returns undefined if the token is well-formed but was replaced. */
async function findByToken(ctx: Ctx, token: string): Promise<InviteRow | undefined> {
  if (secretKind(token) !== 'invite') throw unknownInviteError()
  return (await selectTeamInvites(ctx).where(eq(invites.hash, hashSecret(token))))[0]
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const sameAddress = (invite: InviteRow, email: string): boolean => invite.email.toLowerCase() === email.toLowerCase()

/** Finds an invite by its mailed token, which proves access to the mailbox, or by id if the address is confirmed. */
async function findAddressedTo(ctx: Ctx, user: User, ref: string): Promise<InviteRow> {
  const byId = uuid.test(ref)
  const found = byId ? (await selectTeamInvites(ctx).where(eq(invites.id, ref)))[0] : await findByToken(ctx, ref)
  if (!found && !byId) throw usedInviteError()
  if (!found || !sameAddress(found, user.email) || (byId && !user.emailVerifiedAt)) throw unknownInviteError()
  return found
}

/** Locks the team and returns the invite if it is usable. Only one of several concurrent uses succeeds. */
async function claimInvite(ctx: Ctx, user: User, ref: string): Promise<InviteRow> {
  await members.lockOrganization(ctx, (await findAddressedTo(ctx, user, ref)).organization.id)
  return requireUsable(ctx, await findAddressedTo(ctx, user, ref))
}

/** Throws unless the invite is open and not expired, and its inviter may still invite to its role. */
async function requireUsable(ctx: Ctx, invite: InviteRow | undefined): Promise<InviteRow> {
  if (!invite || invite.acceptedAt || invite.closedAt || invite.expiresAt <= ctx.now) throw usedInviteError()
  const inviter = invite.invitedBy ? await findMembership(ctx, invite.organization.id, invite.invitedBy.id) : undefined
  if (inviter?.status !== 'active' || !isAtLeast(inviter.role, roleToInvite(invite.role))) throw usedInviteError()
  return invite
}

async function joinByInvite(ctx: Ctx, invite: InviteRow, user: Pick<User, 'id' | 'name'>): Promise<void> {
  const { organization, role, email, invitedBy } = invite
  const joined = await members.addMembership(ctx, { id: organization.id, userId: user.id, role })
  await closeTeamInvite(ctx, invite, { acceptedAt: ctx.now }, inviteAccepted)
  if (joined && isManager(role))
    await notifyOwners(ctx, organization.id, user.id, {
      title: `${oneLine(user.name)} joined ${oneLine(organization.name)} as ${role}`,
      message: `They accepted the invitation of ${oneLine(invitedBy?.name ?? 'a former user')} to ${email}.`,
    })
}

/** Returns whether the address has a usable invite, so that it may register although registration is closed. */
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
    .where(and(isOpenInvite, isSentTo(email), gt(invites.expiresAt, ctx.now), couldGive))
    .limit(1)
  return found !== undefined
}
