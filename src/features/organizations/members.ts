import { and, eq, ne } from 'drizzle-orm'
import { type Ctx, read, write } from '../../action.ts'
import { currentOrganization } from '../../auth/actor.ts'
import {
  authorize,
  byRow,
  isAtLeast,
  permissionOf,
  type Refusal,
  type Role,
  roleRefusal,
  roles,
  ruleRefusal,
  throwIfRefused,
} from '../../auth/policy.ts'
import { AppError, notFound } from '../../errors.ts'
import { keyset } from '../../records/page.ts'
import { users } from '../users/table.ts'
import * as events from './events.ts'
import { onManagerMade, onMemberLeft, onPersonalReclaimed } from './hooks.ts'
import { isManager, makeManagerRule } from './managers.ts'
import { requirePlanRoom } from './plans.ts'
import type { Member, MemberPage, MemberQuery, Organization } from './schema.ts'
import { findOrganization, isLiveOrganization, organizationEvent } from './service.ts'
import { memberships, organizations } from './table.ts'

const memberWriteRule = byRow('organizations:write')

export const memberColumns = {
  id: users.id,
  organizationId: memberships.organizationId,
  name: users.name,
  handle: users.handle,
  email: users.email,
  avatarUrl: users.avatarUrl,
  role: memberships.role,
  joinedAt: memberships.joinedAt,
}

export const listMembers = read(
  'organizations.members',
  byRow('organizations:read'),
  async (ctx, { id, ...query }: MemberQuery & { id: string }): Promise<MemberPage> => {
    await findOrganization(ctx, id)
    const page = keyset({ name: users.name, joinedAt: memberships.joinedAt }, users.id, query, {
      sort: 'joinedAt',
      order: 'asc',
    })
    const rows = await ctx.db
      .select(memberColumns)
      .from(memberships)
      .innerJoin(users, eq(users.id, memberships.userId))
      .where(page.where(eq(memberships.organizationId, id)))
      .orderBy(...page.orderBy)
      .limit(page.limit)
    const total = query.total ? await ctx.db.$count(memberships, eq(memberships.organizationId, id)) : undefined
    const found = page.page(rows, total)
    return {
      ...found,
      items: found.items.map((row) => ({ ...row, can: memberPermissions(ctx, row) })),
      can: { invite: permissionOf(manageRefusal(ctx, id, 'viewer', 'viewer')) },
      gives: roles.filter((role) => !manageRefusal(ctx, id, role, role)),
    }
  },
)

export const currentMembers = read(
  'organizations.currentMembers',
  byRow('organizations:read'),
  (ctx, query: MemberQuery): Promise<MemberPage> => listMembers(ctx, { ...query, id: currentOrganization(ctx.actor) }),
)

async function memberOf(ctx: Ctx, organizationId: string, userId: string): Promise<Member> {
  const [found] = await ctx.db
    .select(memberColumns)
    .from(memberships)
    .innerJoin(users, eq(users.id, memberships.userId))
    .where(and(eq(memberships.organizationId, organizationId), eq(memberships.userId, userId)))
  if (!found) throw notFound('member', userId)
  return found
}

async function requireOwner(ctx: Ctx, organizationId: string): Promise<void> {
  const isOwner = and(eq(memberships.organizationId, organizationId), eq(memberships.role, 'owner'))
  if ((await ctx.db.$count(memberships, isOwner)) === 0)
    throw new AppError('conflict.last_owner', 'A team needs at least one owner. Make someone else an owner first.')
}

/** Locks the organization, so that two owners cannot demote each other concurrently. */
export const lockOrganization = (ctx: Ctx, id: string) =>
  ctx.db
    .select({ createdById: organizations.createdById })
    .from(organizations)
    .where(eq(organizations.id, id))
    .for('update')

/** Returns why the caller may not change a member with the role `target` to `wanted`. Owners are managed by owners. */
function manageRefusal({ actor, app }: Ctx, organizationId: string, target: Role, wanted: Role): Refusal | undefined {
  const needed = target === 'owner' || wanted === 'owner' ? 'owner' : 'admin'
  return (
    ruleRefusal(actor, memberWriteRule, 'Managing this member', app.clock) ??
    roleRefusal(actor, organizationId, needed, 'Managing this member')
  )
}

const memberPermissions = (ctx: Ctx, { id, organizationId, role }: Member) => {
  const refusal = manageRefusal(ctx, organizationId, role, role)
  const mayLeave = id === ctx.actor.userId && !ruleRefusal(ctx.actor, memberWriteRule, 'Leaving', ctx.app.clock)
  return { setRole: permissionOf(refusal), remove: mayLeave ? (true as const) : permissionOf(refusal) }
}

const requireManager = (ctx: Ctx, organizationId: string, target: Role, wanted: Role): void =>
  throwIfRefused(manageRefusal(ctx, organizationId, target, wanted))

export const setRole = write(
  'organizations.setRole',
  memberWriteRule,
  async (ctx, { id, userId, role }: { id: string; userId: string; role: Role }): Promise<Member> => {
    const organization = await findOrganization(ctx, id)
    let raised: Member | undefined
    const changed = await storeRole(ctx, { id, userId, role }, (before) => {
      requireManager(ctx, id, before.role, role)
      if (!isManager(role) || isAtLeast(before.role, role)) return
      authorize(ctx.actor, makeManagerRule(id), `Giving the role ${role}`, ctx.app.clock)
      raised = before
    })
    if (raised) await onManagerMade.call(ctx, { organization, member: raised, role })
    return changed
  },
)

/** Runs in the caller's transaction. `check` throws if the caller may not do it; instance administrators pass none. */
export async function storeRole(
  ctx: Ctx,
  { id, userId, role }: { id: string; userId: string; role: Role },
  check?: (before: Member) => void,
): Promise<Member> {
  await lockOrganization(ctx, id)
  const before = await memberOf(ctx, id, userId)
  check?.(before)
  await ctx.db
    .update(memberships)
    .set({ role })
    .where(and(eq(memberships.organizationId, id), eq(memberships.userId, userId)))
  await requireOwner(ctx, id)
  ctx.emit(events.memberRoleChanged, { ...organizationEvent(id), data: { userId, from: before.role, to: role } })
  return { ...before, role }
}

export const removeMember = write(
  'organizations.removeMember',
  memberWriteRule,
  async (
    ctx,
    { id, userId }: { id: string; userId: string },
  ): Promise<{ organizationId: string; userId: string; removed: true }> => {
    // Every member may leave; only owners and admins may remove others.
    return dropMember(ctx, await findOrganization(ctx, id), userId, (before) => {
      if (userId !== ctx.actor.userId) requireManager(ctx, id, before.role, before.role)
    })
  },
  { destructive: true },
)

/** Runs in the caller's transaction. `check` throws if the caller may not do it; instance administrators pass none. */
export async function dropMember(
  ctx: Ctx,
  { id, personal }: Pick<Organization, 'id' | 'personal'>,
  userId: string,
  check?: (before: Member) => void,
): Promise<{ organizationId: string; userId: string; removed: true }> {
  const [locked] = await lockOrganization(ctx, id)
  const before = await memberOf(ctx, id, userId)
  check?.(before)
  if (personal && userId === locked?.createdById)
    throw new AppError('conflict', 'Users cannot leave or be removed from their own personal space.')
  await ctx.db.delete(memberships).where(and(eq(memberships.organizationId, id), eq(memberships.userId, userId)))
  await requireOwner(ctx, id)
  await onMemberLeft.call(ctx, { organizationId: id, userId })
  ctx.emit(events.memberRemoved, { ...organizationEvent(id), data: { userId } })
  return { organizationId: id, userId, removed: true }
}

/** Adds a member. Returns false if the user is one already. The caller has checked that they may join. */
export async function addMembership(
  ctx: Ctx,
  { id, userId, role }: { id: string; userId: string; role: Role },
): Promise<boolean> {
  const [known] = await ctx.db
    .select({ role: memberships.role })
    .from(memberships)
    .where(and(eq(memberships.organizationId, id), eq(memberships.userId, userId)))
  if (known) return false
  await requirePlanRoom(ctx, id, 'members')
  const added = await ctx.db
    .insert(memberships)
    .values({ organizationId: id, userId, role, joinedAt: ctx.now })
    .onConflictDoNothing()
    .returning({ userId: memberships.userId })
  if (added.length > 0) ctx.emit(events.memberAdded, { ...organizationEvent(id), data: { userId, role } })
  return added.length > 0
}

const isPersonalOf = (userId: string) =>
  and(eq(organizations.createdById, userId), eq(organizations.personal, true), isLiveOrganization)

/** Returns the id of a user's personal organization. */
export async function personalOrganizationOf(ctx: Ctx, userId: string): Promise<string | undefined> {
  const [own] = await ctx.db.select({ id: organizations.id }).from(organizations).where(isPersonalOf(userId))
  return own?.id
}

/** Returns how many other members the personal organization of a user has. */
export async function countGuests(ctx: Ctx, userId: string): Promise<number> {
  const home = await personalOrganizationOf(ctx, userId)
  if (!home) return 0
  return ctx.db.$count(memberships, and(eq(memberships.organizationId, home), ne(memberships.userId, userId)))
}

/**
 * Removes everyone else from a user's personal organization: a stranger who created the account may have added them.
 */
export async function reclaimPersonal(ctx: Ctx, userId: string): Promise<void> {
  const [own] = await ctx.db
    .select({ id: organizations.id })
    .from(organizations)
    .where(isPersonalOf(userId))
    .for('update')
  if (!own) return
  const { id } = own
  const others = await ctx.db
    .delete(memberships)
    .where(and(eq(memberships.organizationId, id), ne(memberships.userId, userId)))
    .returning({ userId: memberships.userId })
  await ctx.db.update(memberships).set({ role: 'owner' }).where(eq(memberships.organizationId, id))
  await onPersonalReclaimed.call(ctx, { organizationId: id })
  for (const { userId } of others) {
    await onMemberLeft.call(ctx, { organizationId: id, userId })
    ctx.emit(events.memberRemoved, { ...organizationEvent(id), data: { userId } })
  }
}

/** Returns the ids of a team's owners, the oldest first. */
export async function ownersOf(ctx: Ctx, organizationId: string): Promise<string[]> {
  const rows = await ctx.db
    .select({ userId: memberships.userId })
    .from(memberships)
    .where(and(eq(memberships.organizationId, organizationId), eq(memberships.role, 'owner')))
    .orderBy(memberships.joinedAt, memberships.userId)
  return rows.map(({ userId }) => userId)
}

/** Adds a member on behalf of an administrator of the instance. Other users join by accepting an invite. */
export async function addMemberDirectly(
  ctx: Ctx,
  { id, userId, role }: { id: string; userId: string; role: Role },
): Promise<Member> {
  const [user] = await ctx.db.select({ id: users.id }).from(users).where(eq(users.id, userId))
  if (!user) throw notFound('user', userId)
  if (!(await addMembership(ctx, { id, userId, role })))
    throw new AppError('conflict.exists', 'This user is already a member.')
  return memberOf(ctx, id, userId)
}
