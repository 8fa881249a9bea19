import { and, eq, isNull, sql } from 'drizzle-orm'
import { type Ctx, checkVersion, read, write } from '../../action.ts'
import { currentOrganization, organizationsOf, userIdOf } from '../../auth/actor.ts'
import {
  byRow,
  includePermissions,
  member,
  permissionOf,
  type Refusal,
  requireRole,
  ruleRefusal,
  throwIfRefused,
} from '../../auth/policy.ts'
import { randomTail } from '../../auth/secrets.ts'
import { anyOf, idList, newId } from '../../db/columns.ts'
import { AppError, invalid, notFound } from '../../errors.ts'
import { keyset } from '../../records/page.ts'
import { updateVersioned } from '../../records/rows.ts'
import { slugify } from '../../text/text.ts'
import * as events from './events.ts'
import type {
  Organization,
  OrganizationCreate,
  OrganizationPage,
  OrganizationPatch,
  OrganizationQuery,
} from './schema.ts'
import { memberships, organizations } from './table.ts'

export const organizationColumns = {
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
export const organizationEvent = (id: string) => ({ subjectId: id, organizationId: id })
export const isLiveOrganization = isNull(organizations.deletedAt)
/** Limits settings to 16 KiB of JSON. */
export const checkSettings = (settings: unknown): void => {
  if (settings !== undefined && Buffer.byteLength(JSON.stringify(settings)) > 16 << 10)
    throw invalid('/settings', 'settings is larger than 16 KiB.', 'too_long')
}

/** Selects only organizations of the caller: others must look as if they did not exist. */
const selectOwn = (ctx: Ctx) =>
  ctx.db
    .select(organizationColumns)
    .from(organizations)
    .innerJoin(
      memberships,
      and(eq(memberships.organizationId, organizations.id), eq(memberships.userId, userIdOf(ctx.actor))),
    )
    .$dynamic()

export async function findOrganization(ctx: Ctx, id: string): Promise<Organization> {
  const [found] = await selectOwn(ctx).where(
    and(eq(organizations.id, id), isLiveOrganization, isNull(organizations.sandboxOf)),
  )
  if (!found || !ctx.actor.memberships.has(id)) throw notFound('organization', id)
  return found
}

/** Like `findOrganization`, but for a user who became a member in this transaction: the actor does not list it yet. */
export async function findJoined(ctx: Ctx, id: string): Promise<Organization> {
  const [found] = await selectOwn(ctx).where(eq(organizations.id, id))
  return found as Organization
}

const recordWriteRule = member('tasks:write')

export const list = read(
  'organizations.list',
  byRow('organizations:read'),
  async (ctx, query: OrganizationQuery): Promise<OrganizationPage> => {
    const page = keyset({ name: organizations.name, createdAt: organizations.createdAt }, organizations.id, query, {
      sort: 'createdAt',
      order: 'asc',
    })
    // An API key narrowed to one organization sees only that one.
    const filters = [
      isLiveOrganization,
      isNull(organizations.sandboxOf),
      anyOf(organizations.id, idList(organizationsOf(ctx.actor))),
    ]
    const rows = await selectOwn(ctx)
      .where(page.where(...filters))
      .orderBy(...page.orderBy)
      .limit(page.limit)
    const items = rows.map((row) => ({
      ...row,
      ...includePermissions(ctx.actor, () => ({
        write: permissionOf(
          ruleRefusal({ ...ctx.actor, organizationId: row.id }, recordWriteRule, 'Changing records', ctx.app.clock),
        ),
      })),
    }))
    return page.page(items, query.total ? ctx.actor.memberships.size : undefined)
  },
)

export const get = read(
  'organizations.get',
  byRow('organizations:read'),
  (ctx, { id }: { id: string }): Promise<Organization> => findOrganization(ctx, id),
)

export const current = read(
  'organizations.current',
  byRow('organizations:read'),
  (ctx, _: Record<string, never>): Promise<Organization> => findOrganization(ctx, currentOrganization(ctx.actor)),
)

/** Runs in the caller's transaction. Every new user gets a personal organization this way. */
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
  // All organizations share one set of slugs. A taken slug gets a random suffix: a counter would reveal how many there
  // are. The unique index decides, so that only one of two concurrent inserts gets the slug.
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
  byRow('organizations:write'),
  async (ctx, input: OrganizationCreate): Promise<Organization> => {
    const userId = userIdOf(ctx.actor)
    if (ctx.actor.bound) throw new AppError('forbidden', 'This key is bound to one team and cannot create another.')
    const id = await createFor(ctx, { ...input, userId })
    ctx.emit(events.organizationCreated, { ...organizationEvent(id), data: { name: input.name, userId } })
    return findJoined(ctx, id)
  },
)

export const update = write(
  'organizations.update',
  byRow('organizations:write'),
  async (ctx, { id, ...patch }: OrganizationPatch & { id: string }): Promise<Organization> => {
    const before = await findOrganization(ctx, id)
    requireRole(ctx.actor, id, 'admin', 'Changing an organization')
    checkVersion(ctx, before)
    checkSettings(patch.settings)
    const set = patch.name === undefined ? patch : { ...patch, name: patch.name.trim() }
    await updateVersioned(ctx, organizations, {
      columns: { id: organizations.id, version: organizations.version },
      before,
      set,
      what: 'this organization',
      again: () => findOrganization(ctx, id),
    })
    ctx.emit(events.organizationUpdated, { ...organizationEvent(id), data: { fields: Object.keys(patch) } })
    return findOrganization(ctx, id)
  },
  { versioned: true },
)

export const updateCurrent = write(
  'organizations.updateCurrent',
  byRow('organizations:write'),
  (ctx, patch: OrganizationPatch): Promise<Organization> =>
    update(ctx, { ...patch, id: currentOrganization(ctx.actor) }),
  { versioned: true },
)

export const remove = write(
  'organizations.remove',
  byRow('organizations:write'),
  async (ctx, { id }: { id: string }): Promise<{ id: string; deleted: true }> => {
    const found = await findOrganization(ctx, id)
    requireRole(ctx.actor, id, 'owner', 'Deleting an organization')
    checkVersion(ctx, found)
    return softDeleteOrganization(ctx, found)
  },
  { destructive: true, versioned: true },
)

/** Returns why a personal organization cannot be deleted; undefined for all others. */
export const personalRefusal = ({ personal }: Pick<Organization, 'personal'>): Refusal | undefined =>
  personal ? { code: 'conflict', detail: 'A personal space can only be deleted together with its account.' } : undefined

/** Soft-deletes the organization and its sandbox, in the caller's transaction. The caller has checked the right. */
export async function softDeleteOrganization(
  ctx: Ctx,
  { id, name, personal }: Pick<Organization, 'id' | 'name' | 'personal'>,
): Promise<{ id: string; deleted: true }> {
  throwIfRefused(personalRefusal({ personal }))
  await ctx.db
    .update(organizations)
    .set({ deletedAt: ctx.now, updatedAt: ctx.now, version: sql`${organizations.version} + 1` })
    .where(sql`${organizations.id} = ${id} or ${organizations.sandboxOf} = ${id}`)
  ctx.emit(events.organizationDeleted, { ...organizationEvent(id), data: { name } })
  return { id, deleted: true }
}

/**
 * Returns the sandbox organization of test tokens and creates it on first use. The caller has checked the right to the
 * parent organization.
 */
export async function sandboxOf(ctx: Ctx, parentId: string): Promise<string> {
  const twin = () =>
    ctx.db
      .select({ id: organizations.id })
      .from(organizations)
      .where(and(eq(organizations.sandboxOf, parentId), isLiveOrganization))
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
  // A concurrent request created it first.
  return made?.id ?? ((await twin())[0]?.id as string)
}
