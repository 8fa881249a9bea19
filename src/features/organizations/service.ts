import { and, count, eq, isNull, ne, sql } from 'drizzle-orm'
import { type Ctx, checkVersion, read, write } from '../../action.ts'
import { currentOrganization, organizationsOf, userIdOf } from '../../auth/actor.ts'
import { account, admin, type Role, requireRole } from '../../auth/policy.ts'
import { randomTail } from '../../auth/secrets.ts'
import { anyOf, idList, newId } from '../../db/columns.ts'
import { AppError, invalid, notFound } from '../../errors.ts'
import { keyset } from '../../records/page.ts'
import { changeVersioned } from '../../records/rows.ts'
import { slugify } from '../../text/text.ts'
import { invites } from '../invites/table.ts'
import { users } from '../users/table.ts'
import * as events from './events.ts'
import type {
  Member,
  MemberPage,
  MemberQuery,
  Organization,
  OrganizationCreate,
  OrganizationPage,
  OrganizationPatch,
  OrganizationQuery,
} from './schema.ts'
import { memberships, organizations } from './table.ts'

export const visible = {
  id: organizations.id,
  createdAt: organizations.createdAt,
  updatedAt: organizations.updatedAt,
  version: organizations.version,
  name: organizations.name,
  slug: organizations.slug,
  description: organizations.description,
  avatarUrl: organizations.avatarUrl,
  plan: organizations.plan,
  planStatus: organizations.planStatus,
  settings: organizations.settings,
  personal: organizations.personal,
  role: memberships.role,
}
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

const here = (id: string) => ({ subjectId: id, organizationId: id })
const live = isNull(organizations.deletedAt)
/** 16 KiB, as bytes on the wire. */
export const checkSettings = (settings: unknown): void => {
  if (settings !== undefined && Buffer.byteLength(JSON.stringify(settings)) > 16 << 10)
    throw invalid('/settings', 'settings is larger than 16 KiB.', 'too_long')
}

/** The caller's organizations only: what he is not in does not exist for him. */
const mine = (ctx: Ctx) =>
  ctx.db
    .select(visible)
    .from(organizations)
    .innerJoin(
      memberships,
      and(eq(memberships.organizationId, organizations.id), eq(memberships.userId, userIdOf(ctx.actor))),
    )
    .$dynamic()

async function find(ctx: Ctx, id: string): Promise<Organization> {
  const [found] = await mine(ctx).where(and(eq(organizations.id, id), live, isNull(organizations.sandboxOf)))
  if (!found || !ctx.actor.memberships.has(id)) throw notFound('organization', id)
  return found
}

/** For whoever became a member in this very transaction, which his rights do not know of yet. */
export async function joined(ctx: Ctx, id: string): Promise<Organization> {
  const [found] = await mine(ctx).where(eq(organizations.id, id))
  return found as Organization
}

export const list = read(
  'organizations.list',
  account('organizations:read'),
  async (ctx, query: OrganizationQuery): Promise<OrganizationPage> => {
    const page = keyset({ name: organizations.name, createdAt: organizations.createdAt }, organizations.id, query, {
      sort: 'createdAt',
      order: 'asc',
    })
    // An API key narrowed to one organization sees only that one.
    const filters = [live, isNull(organizations.sandboxOf), anyOf(organizations.id, idList(organizationsOf(ctx.actor)))]
    const rows = await mine(ctx)
      .where(page.where(...filters))
      .orderBy(...page.orderBy)
      .limit(page.limit)
    return page.page(rows, query.total ? ctx.actor.memberships.size : undefined)
  },
)

export const get = read(
  'organizations.get',
  account('organizations:read'),
  (ctx, { id }: { id: string }): Promise<Organization> => find(ctx, id),
)

export const current = read(
  'organizations.current',
  account('organizations:read'),
  (ctx, _: Record<string, never>): Promise<Organization> => find(ctx, currentOrganization(ctx.actor)),
)

/** In the running transaction; accounts make a personal one for every new user. */
export async function createFor(
  ctx: Ctx,
  o: { userId: string; name: string; slug?: string; description?: string; personal?: boolean },
): Promise<string> {
  const id = newId()
  const slug = (o.slug ?? slugify(o.name)) || 'team'
  const values = {
    id,
    name: o.name.trim(),
    description: o.description,
    settings: {},
    personal: o.personal ?? false,
    createdById: o.userId,
    createdAt: ctx.now,
    updatedAt: ctx.now,
  }
  // Slugs are shared by all tenants, so a taken one gets a random tail: a counter would tell how many there are. The index decides, for
  // of two at the same moment only one can have it.
  const free = await ctx.db
    .insert(organizations)
    .values({ ...values, slug })
    .onConflictDoNothing()
    .returning({ id: organizations.id })
  if (free.length === 0) await ctx.db.insert(organizations).values({ ...values, slug: `${slug}-${randomTail()}` })
  await ctx.db.insert(memberships).values({ organizationId: id, userId: o.userId, role: 'owner', joinedAt: ctx.now })
  return id
}

export const create = write(
  'organizations.create',
  account('organizations:write'),
  async (ctx, input: OrganizationCreate): Promise<Organization> => {
    const userId = userIdOf(ctx.actor)
    if (ctx.actor.bound)
      throw new AppError('forbidden', 'This key is bound to one organization and cannot make another.')
    const id = await createFor(ctx, { ...input, userId })
    ctx.emit(events.organizationCreated, { ...here(id), data: { name: input.name, userId } })
    return joined(ctx, id)
  },
)

export const update = write(
  'organizations.update',
  account('organizations:write'),
  async (ctx, { id, ...patch }: OrganizationPatch & { id: string }): Promise<Organization> => {
    const before = await find(ctx, id)
    requireRole(ctx.actor, id, 'admin', 'Changing an organization')
    checkVersion(ctx, before)
    checkSettings(patch.settings)
    const set = patch.name === undefined ? patch : { ...patch, name: patch.name.trim() }
    await changeVersioned(ctx, organizations, {
      columns: { id: organizations.id, version: organizations.version },
      before,
      set,
      what: 'this organization',
      again: () => find(ctx, id),
    })
    ctx.emit(events.organizationUpdated, { ...here(id), data: { fields: Object.keys(patch) } })
    return find(ctx, id)
  },
  { versioned: true },
)

export const updateCurrent = write(
  'organizations.updateCurrent',
  account('organizations:write'),
  (ctx, patch: OrganizationPatch): Promise<Organization> =>
    update(ctx, { ...patch, id: currentOrganization(ctx.actor) }),
  { versioned: true },
)

export const remove = write(
  'organizations.remove',
  account('organizations:write'),
  async (ctx, { id }: { id: string }): Promise<{ id: string; deleted: true }> => {
    const found = await find(ctx, id)
    requireRole(ctx.actor, id, 'owner', 'Deleting an organization')
    checkVersion(ctx, found)
    return hide(ctx, found)
  },
  { destructive: true, versioned: true },
)

/** In the running transaction; whoever calls has checked that he may. With its sandbox. */
export async function hide(
  ctx: Ctx,
  { id, name, personal }: Pick<Organization, 'id' | 'name' | 'personal'>,
): Promise<{ id: string; deleted: true }> {
  if (personal) throw new AppError('conflict', 'A personal organization goes only with its account.')
  await ctx.db
    .update(organizations)
    .set({ deletedAt: ctx.now, updatedAt: ctx.now, version: sql`${organizations.version} + 1` })
    .where(sql`${organizations.id} = ${id} or ${organizations.sandboxOf} = ${id}`)
  ctx.emit(events.organizationDeleted, { ...here(id), data: { name } })
  return { id, deleted: true }
}

// ---- members

export const members = read(
  'organizations.members',
  account('organizations:read'),
  async (ctx, { id, ...query }: MemberQuery & { id: string }): Promise<MemberPage> => {
    await find(ctx, id)
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
    const total = query.total
      ? (await ctx.db.select({ n: count() }).from(memberships).where(eq(memberships.organizationId, id)))[0]?.n
      : undefined
    return page.page(rows, total)
  },
)

export const currentMembers = read(
  'organizations.currentMembers',
  account('organizations:read'),
  (ctx, query: MemberQuery): Promise<MemberPage> => members(ctx, { ...query, id: currentOrganization(ctx.actor) }),
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

async function keepAnOwner(ctx: Ctx, organizationId: string): Promise<void> {
  const [owners] = await ctx.db
    .select({ n: count() })
    .from(memberships)
    .where(and(eq(memberships.organizationId, organizationId), eq(memberships.role, 'owner')))
  if (owners?.n === 0)
    throw new AppError(
      'conflict.last_owner',
      'An organization needs at least one owner. Make somebody else owner first.',
    )
}

/** Who changes members takes turns, so that two owners cannot demote each other at the same moment. */
export const lock = (ctx: Ctx, id: string) =>
  ctx.db
    .select({ createdById: organizations.createdById })
    .from(organizations)
    .where(eq(organizations.id, id))
    .for('update')

function mayManage(ctx: Ctx, organizationId: string, target: Role, wanted: Role): void {
  requireRole(
    ctx.actor,
    organizationId,
    target === 'owner' || wanted === 'owner' ? 'owner' : 'admin',
    'Managing this member',
  )
}

export const setRole = write(
  'organizations.setRole',
  account('organizations:write'),
  async (ctx, { id, userId, role }: { id: string; userId: string; role: Role }): Promise<Member> => {
    await find(ctx, id)
    return putRole(ctx, { id, userId, role }, (before) => mayManage(ctx, id, before.role, role))
  },
)

/** In the running transaction; `check` refuses those who may not. An administrator of the instance always may. */
export async function putRole(
  ctx: Ctx,
  { id, userId, role }: { id: string; userId: string; role: Role },
  check?: (before: Member) => void,
): Promise<Member> {
  await lock(ctx, id)
  const before = await memberOf(ctx, id, userId)
  check?.(before)
  await ctx.db
    .update(memberships)
    .set({ role })
    .where(and(eq(memberships.organizationId, id), eq(memberships.userId, userId)))
  await keepAnOwner(ctx, id)
  ctx.emit(events.memberRoleChanged, { ...here(id), data: { userId, from: before.role, to: role } })
  return { ...before, role }
}

export const removeMember = write(
  'organizations.removeMember',
  account('organizations:write'),
  async (
    ctx,
    { id, userId }: { id: string; userId: string },
  ): Promise<{ organizationId: string; userId: string; removed: true }> => {
    // Everybody may leave; only managers may remove others.
    return takeOut(ctx, await find(ctx, id), userId, (before) => {
      if (userId !== ctx.actor.userId) mayManage(ctx, id, before.role, before.role)
    })
  },
  { destructive: true },
)

/** In the running transaction; `check` as above. */
export async function takeOut(
  ctx: Ctx,
  { id, personal }: Pick<Organization, 'id' | 'personal'>,
  userId: string,
  check?: (before: Member) => void,
): Promise<{ organizationId: string; userId: string; removed: true }> {
  const [locked] = await lock(ctx, id)
  const before = await memberOf(ctx, id, userId)
  check?.(before)
  if (personal && userId === locked?.createdById)
    throw new AppError('conflict', 'Nobody can leave or be removed from the own personal organization.')
  await ctx.db.delete(memberships).where(and(eq(memberships.organizationId, id), eq(memberships.userId, userId)))
  await keepAnOwner(ctx, id)
  ctx.emit(events.memberRemoved, { ...here(id), data: { userId } })
  return { organizationId: id, userId, removed: true }
}

/** In the running transaction; false when he is a member already. Whoever calls has checked that he may join. */
export async function join(
  ctx: Ctx,
  { id, userId, role }: { id: string; userId: string; role: Role },
): Promise<boolean> {
  const added = await ctx.db
    .insert(memberships)
    .values({ organizationId: id, userId, role, joinedAt: ctx.now })
    .onConflictDoNothing()
    .returning({ userId: memberships.userId })
  if (added.length > 0) ctx.emit(events.memberAdded, { ...here(id), data: { userId, role } })
  return added.length > 0
}

/** In the running transaction: whoever had the account before may have let others into what is its owner's alone. */
export async function reclaim(ctx: Ctx, userId: string): Promise<void> {
  const [own] = await ctx.db
    .select({ id: organizations.id })
    .from(organizations)
    .where(and(eq(organizations.createdById, userId), eq(organizations.personal, true), live))
    .for('update')
  if (!own) return
  const { id } = own
  const others = await ctx.db
    .delete(memberships)
    .where(and(eq(memberships.organizationId, id), ne(memberships.userId, userId)))
    .returning({ userId: memberships.userId })
  await ctx.db.update(memberships).set({ role: 'owner' }).where(eq(memberships.organizationId, id))
  await ctx.db
    .update(invites)
    .set({ closedAt: ctx.now, updatedAt: ctx.now })
    .where(and(eq(invites.organizationId, id), isNull(invites.acceptedAt), isNull(invites.closedAt)))
  for (const other of others) ctx.emit(events.memberRemoved, { ...here(id), data: { userId: other.userId } })
}

/** By an instance administrator; people join by accepting an invite. */
export const addMember = write(
  'organizations.addMember',
  admin,
  async (ctx, { id, userId, role }: { id: string; userId: string; role: Role }): Promise<Member> => {
    const [organization] = await ctx.db
      .select({ id: organizations.id })
      .from(organizations)
      .where(and(eq(organizations.id, id), live, isNull(organizations.sandboxOf)))
    if (!organization) throw notFound('organization', id)
    const [user] = await ctx.db.select({ id: users.id }).from(users).where(eq(users.id, userId))
    if (!user) throw notFound('user', userId)
    if (!(await join(ctx, { id, userId, role })))
      throw new AppError('conflict.exists', 'This user is a member already.')
    return memberOf(ctx, id, userId)
  },
)

/** The twin that test tokens work in, made on first use. The caller has checked the right to the parent. */
export async function sandboxOf(ctx: Ctx, parentId: string): Promise<string> {
  const twin = () =>
    ctx.db
      .select({ id: organizations.id })
      .from(organizations)
      .where(and(eq(organizations.sandboxOf, parentId), live))
  const [found] = await twin()
  if (found) return found.id
  const id = newId()
  const [made] = await ctx.db
    .insert(organizations)
    .values({
      id,
      name: 'Sandbox',
      slug: `sandbox-${id}`,
      settings: {},
      sandboxOf: parentId,
      createdAt: ctx.now,
      updatedAt: ctx.now,
    })
    .onConflictDoNothing()
    .returning({ id: organizations.id })
  // Somebody else's first test token made it at the same moment.
  return made?.id ?? ((await twin())[0]?.id as string)
}
