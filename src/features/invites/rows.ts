import { and, eq, inArray, isNull, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import type { Role } from '../../auth/policy.ts'
import { keyset } from '../../records/page.ts'
import { wipeMail } from '../mail/service.ts'
import { invitesAmong } from '../notifications/hooks.ts'
import { settleNotifications } from '../notifications/service.ts'
import { memberships, organizations } from '../organizations/table.ts'
import { users } from '../users/table.ts'
import type { inviteAccepted, inviteDeclined, inviteWithdrawn } from './events.ts'
import type { Invite, InvitePage, InviteQuery } from './schema.ts'
import { invites } from './table.ts'

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

/** SQL condition: the invite is neither accepted, declined nor withdrawn; it may have expired. */
export const isOpenInvite = and(isNull(invites.acceptedAt), isNull(invites.closedAt))
export const isSentTo = (email: string) => eq(sql`lower(${invites.email})`, email.toLowerCase())

export const selectTeamInvites = (ctx: Ctx) =>
  ctx.db
    .select({ ...visible, closedAt: invites.closedAt, handedOver: invites.handedOver })
    .from(invites)
    .innerJoin(organizations, and(eq(organizations.id, invites.organizationId), isNull(organizations.deletedAt)))
    .leftJoin(users, eq(users.id, invites.invitedById))
    .$dynamic()
export type InviteRow = Invite & { closedAt: string | null; handedOver: boolean }

export const toInvite = ({ closedAt: _, handedOver: __, ...invite }: InviteRow): Invite => invite

/** Contains the team: a new link erases older mails of the same kind, but not those of another team. */
export const mailKind = (organizationId: string): string => `invite:${organizationId}`

/** The role that is needed to invite to a role, checked when the invite is sent and when it is accepted. */
export const roleToInvite = (role: Role): Role => (role === 'owner' ? 'owner' : 'admin')

export async function listOpenInvites(
  ctx: Ctx,
  query: InviteQuery,
  ...filters: (SQL | undefined)[]
): Promise<InvitePage> {
  const page = keyset({ createdAt: invites.createdAt }, invites.id, query, { sort: 'createdAt' })
  const ofTeam = inArray(
    invites.organizationId,
    ctx.db.select({ id: organizations.id }).from(organizations).where(isNull(organizations.deletedAt)),
  )
  const rows = await selectTeamInvites(ctx)
    .where(page.where(isOpenInvite, ...filters))
    .orderBy(...page.orderBy)
    .limit(page.limit)
  const found = page.page(
    rows,
    query.total ? await ctx.db.$count(invites, and(isOpenInvite, ofTeam, ...filters)) : undefined,
  )
  return { ...found, items: found.items.map(toInvite) }
}

/** Ends an invite and erases the content of its mail. */
export async function closeTeamInvite(
  ctx: Ctx,
  invite: InviteRow,
  how: { acceptedAt: string } | { closedAt: string },
  event: typeof inviteAccepted | typeof inviteDeclined | typeof inviteWithdrawn,
): Promise<void> {
  await ctx.db
    .update(invites)
    .set({ ...how, updatedAt: ctx.now, version: sql`${invites.version} + 1` })
    .where(eq(invites.id, invite.id))
  await wipeMail(ctx, invite.email, mailKind(invite.organization.id))
  await settleNotifications(ctx, { id: invite.id, reasons: ['invite'] })
  ctx.emit(event, {
    subjectId: invite.id,
    organizationId: invite.organization.id,
    data: { email: invite.email, role: invite.role },
  })
}

export const inviteSubjects = invitesAmong.handle(async (ctx, { ids }) => {
  const rows = await selectTeamInvites(ctx).where(and(inArray(invites.id, [...ids]), isOpenInvite))
  return rows.map(({ id, organization }) => ({
    kind: 'invite',
    id,
    key: null,
    title: organization.name,
    status: null,
    path: `/invites/${id}`,
    team: null,
  }))
})

export async function findMembership(ctx: Ctx, organizationId: string, userId: string) {
  const [found] = await ctx.db
    .select({ role: memberships.role, status: users.status })
    .from(memberships)
    .innerJoin(users, eq(users.id, memberships.userId))
    .where(and(eq(memberships.organizationId, organizationId), eq(memberships.userId, userId)))
  return found
}
