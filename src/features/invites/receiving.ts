import { and, eq, gt, isNull, ne, or, sql } from 'drizzle-orm'
import { type Ctx, read, write } from '../../action.ts'
import { userIdOf } from '../../auth/actor.ts'
import { account, anyone, atLeast, person, requireRecent } from '../../auth/policy.ts'
import { hashSecret, kindOf } from '../../auth/secrets.ts'
import { AppError, invalid } from '../../errors.ts'
import { countHoldings, mayRegister, onRegistered } from '../accounts/hooks.ts'
import { oneLine } from '../mail/message.ts'
import { notifyOwners } from '../notifications/owners.ts'
import { personalReclaimed } from '../organizations/hooks.ts'
import { manages } from '../organizations/managers.ts'
import * as members from '../organizations/members.ts'
import type { Organization } from '../organizations/schema.ts'
import * as teams from '../organizations/service.ts'
import { memberships, organizations } from '../organizations/table.ts'
import { userEmailVerified } from '../users/events.ts'
import type { User } from '../users/schema.ts'
import { visible as userColumns } from '../users/service.ts'
import { users } from '../users/table.ts'
import { inviteAccepted, inviteDeclined } from './events.ts'
import { close, listOpen, memberOf, open, type Row, roleToInvite, select, sentTo } from './rows.ts'
import type { InvitePage, InvitePreview, InviteQuery } from './schema.ts'
import { invites } from './table.ts'

const me = async (ctx: Ctx): Promise<User> => {
  const [user] = await ctx.db
    .select(userColumns)
    .from(users)
    .where(eq(users.id, userIdOf(ctx.actor)))
  return user as User
}

/** Lists no invites for an unconfirmed address, which may belong to someone else. */
export const mine = read(
  'invites.mine',
  account('account:read'),
  async (ctx, query: InviteQuery): Promise<InvitePage> => {
    const user = await me(ctx)
    const confirmed = user.emailVerifiedAt ? undefined : sql`false`
    return listOpen(ctx, query, sentTo(user.email), gt(invites.expiresAt, ctx.now), confirmed)
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
    if (!user.emailVerifiedAt && !invite.handedOver) {
      // A mailed link proves access to the mailbox; a recent sign-in proves that the account is the caller's own.
      requireRecent(ctx.actor, 15, 'Accepting with an address that is not confirmed yet', ctx.app.clock())
      await ctx.db
        .update(users)
        .set({ emailVerifiedAt: ctx.now, updatedAt: ctx.now, version: sql`${users.version} + 1` })
        .where(eq(users.id, user.id))
      ctx.emit(userEmailVerified, { subjectId: user.id, userId: user.id })
    }
    await take(ctx, invite, user)
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
  countHoldings.handle(async (ctx, { userId }) => {
    const home = await members.personalOf(ctx, userId)
    const usable = and(open, gt(invites.expiresAt, ctx.now))
    return home ? { guests: await ctx.db.$count(invites, and(eq(invites.organizationId, home), usable)) } : {}
  }),
  personalReclaimed.handle(async (ctx, { organizationId }) => {
    await ctx.db
      .update(invites)
      .set({ closedAt: ctx.now, updatedAt: ctx.now })
      .where(and(eq(invites.organizationId, organizationId), open))
  }),
  mayRegister.handle(async (ctx, { email, inviteToken }) => {
    const invite = await usable(ctx, await byToken(ctx, inviteToken))
    if (!sameAddress(invite, email))
      throw invalid('/email', 'This invitation was sent to another address. Register with that address.')
    return { provesMailbox: !invite.handedOver }
  }),
  onRegistered.handle(async (ctx, { user, inviteToken }) => {
    await take(ctx, await claim(ctx, user, inviteToken), user)
  }),
]

const gone = () =>
  new AppError(
    'gone',
    'This invitation was already used, withdrawn or replaced, or has expired. Ask the team for a new one.',
  )
const unknown = () =>
  new AppError(
    'not_found',
    'You have no such invitation. An invitation works only for the address that it was sent to.',
  )

/** Returns undefined if the token is well-formed but was replaced. */
async function byToken(ctx: Ctx, token: string): Promise<Row | undefined> {
  if (kindOf(token) !== 'invite') throw unknown()
  return (await select(ctx).where(eq(invites.hash, hashSecret(token))))[0]
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const sameAddress = (invite: Row, email: string): boolean => invite.email.toLowerCase() === email.toLowerCase()

/** Finds an invite by its mailed token, which proves access to the mailbox, or by id if the address is confirmed. */
async function addressedTo(ctx: Ctx, user: User, ref: string): Promise<Row> {
  const byId = uuid.test(ref)
  const found = byId ? (await select(ctx).where(eq(invites.id, ref)))[0] : await byToken(ctx, ref)
  if (!found && !byId) throw gone()
  if (!found || !sameAddress(found, user.email) || (byId && !user.emailVerifiedAt)) throw unknown()
  return found
}

/** Locks the team and returns the invite if it is usable. Only one of several concurrent uses succeeds. */
async function claim(ctx: Ctx, user: User, ref: string): Promise<Row> {
  await members.lock(ctx, (await addressedTo(ctx, user, ref)).organization.id)
  return usable(ctx, await addressedTo(ctx, user, ref))
}

/** Throws unless the invite is open and not expired, and its inviter may still invite to its role. */
async function usable(ctx: Ctx, invite: Row | undefined): Promise<Row> {
  if (!invite || invite.acceptedAt || invite.closedAt || invite.expiresAt <= ctx.now) throw gone()
  const inviter = invite.invitedBy ? await memberOf(ctx, invite.organization.id, invite.invitedBy.id) : undefined
  if (inviter?.status !== 'active' || !atLeast(inviter.role, roleToInvite(invite.role))) throw gone()
  return invite
}

async function take(ctx: Ctx, invite: Row, user: Pick<User, 'id' | 'name'>): Promise<void> {
  const { organization, role, email, invitedBy } = invite
  const joined = await members.join(ctx, { id: organization.id, userId: user.id, role })
  await close(ctx, invite, { acceptedAt: ctx.now }, inviteAccepted)
  if (joined && manages(role))
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
    .where(and(open, sentTo(email), gt(invites.expiresAt, ctx.now), couldGive))
    .limit(1)
  return found !== undefined
}
