import { and, eq, isNull, or, type SQL, sql } from 'drizzle-orm'
import { type Ctx, checkVersion, read, write } from '../../action.ts'
import { admin, type Role, recentAdmin } from '../../auth/policy.ts'
import { contains } from '../../db/columns.ts'
import { notFound } from '../../errors.ts'
import { keyset } from '../../records/page.ts'
import { updateVersioned } from '../../records/rows.ts'
import { notify } from '../notifications/service.ts'
import { organizationUpdated } from '../organizations/events.ts'
import * as members from '../organizations/members.ts'
import type { Member, OrganizationPatch } from '../organizations/schema.ts'
import * as service from '../organizations/service.ts'
import { memberships, organizations } from '../organizations/table.ts'
import { projects } from '../projects/table.ts'
import { users } from '../users/table.ts'
import { FRESH_MINUTES, teamPermissions } from './refusals.ts'
import type { AdminTeam, AdminTeamDetail, AdminTeamPage, AdminTeamQuery } from './schema.ts'

/** Teams for administrators of the instance, who manage them without being members. */
const { role: _, ...shown } = service.organizationColumns
const visible = {
  ...shown,
  createdById: organizations.createdById,
  members: sql<number>`(select count(*)::int from ${memberships} m where m.organization_id = ${organizations}.id)`,
}
const isListedTeam = and(isNull(organizations.deletedAt), isNull(organizations.sandboxOf))

export const list = read('admin.teams', admin, async (ctx, query: AdminTeamQuery): Promise<AdminTeamPage> => {
  const page = keyset({ createdAt: organizations.createdAt, name: organizations.name }, organizations.id, query, {
    sort: 'createdAt',
  })
  const part = query.search?.trim()
  const filters = and(
    isListedTeam,
    part ? or(contains(organizations.name, part), contains(organizations.slug, part)) : undefined,
    query.personal === undefined ? undefined : eq(organizations.personal, query.personal),
  )
  const rows = await ctx.db
    .select(visible)
    .from(organizations)
    .where(page.where(filters))
    .orderBy(...page.orderBy)
    .limit(page.limit)
  return page.page(rows, query.total ? await ctx.db.$count(organizations, filters) : undefined)
})

async function findTeam(ctx: Ctx, id: string): Promise<AdminTeam> {
  const [found] = await ctx.db
    .select(visible)
    .from(organizations)
    .where(and(eq(organizations.id, id), isListedTeam))
  if (!found) throw notFound('organization', id)
  return found
}

async function teamDetail(ctx: Ctx, id: string): Promise<AdminTeamDetail> {
  const team = await findTeam(ctx, id)
  const listOf = (most: number, which?: SQL) =>
    ctx.db
      .select(members.memberColumns)
      .from(memberships)
      .innerJoin(users, eq(users.id, memberships.userId))
      .where(and(eq(memberships.organizationId, id), which))
      .orderBy(memberships.joinedAt, users.id)
      .limit(most)
  return {
    ...team,
    projects: await ctx.db.$count(projects, and(eq(projects.organizationId, id), isNull(projects.deletedAt))),
    owners: await listOf(100, eq(memberships.role, 'owner')),
    people: await listOf(200),
    can: teamPermissions(team),
  }
}

export const get = read(
  'admin.team',
  admin,
  (ctx, { id }: { id: string }): Promise<AdminTeamDetail> => teamDetail(ctx, id),
)

export const update = write(
  'admin.updateTeam',
  admin,
  async (ctx, { id, ...patch }: OrganizationPatch & { id: string }): Promise<AdminTeamDetail> => {
    const before = await findTeam(ctx, id)
    checkVersion(ctx, before)
    service.checkSettings(patch.settings)
    await updateVersioned(ctx, organizations, {
      columns: { id: organizations.id, version: organizations.version },
      before,
      set: patch.name === undefined ? patch : { ...patch, name: patch.name.trim() },
      what: 'this team',
      again: () => findTeam(ctx, id),
    })
    ctx.emit(organizationUpdated, { subjectId: id, organizationId: id, data: { fields: Object.keys(patch) } })
    return teamDetail(ctx, id)
  },
  { versioned: true },
)

export const remove = write(
  'admin.removeTeam',
  admin,
  async (ctx, { id }: { id: string }): Promise<{ id: string; deleted: true }> => {
    const team = await findTeam(ctx, id)
    checkVersion(ctx, team)
    return service.softDeleteOrganization(ctx, team)
  },
  { destructive: true, versioned: true },
)

// ---- members

/**
 * Changes the members of a team in which the administrator may have no role. Notifies the earlier owners, except the
 * administrator, so that no one joins or changes a team unnoticed. Commands of the server itself notify no one.
 */
async function changeMembers<T>(
  ctx: Ctx,
  { id, name }: AdminTeam,
  { userId: whom, did }: { userId: string; did: (name: string) => string },
  work: () => Promise<T>,
): Promise<T> {
  const owners = await members.ownersOf(ctx, id)
  const result = await work()
  const { userId: by } = ctx.actor
  if (by === null) return result
  const [changed] = await ctx.db.select({ name: users.name }).from(users).where(eq(users.id, whom))
  const message = `${ctx.actor.name} ${did(whom === by ? 'themselves' : String(changed?.name))}.`
  const notices = owners
    .filter((userId) => userId !== by)
    .map((userId) => ({
      userId,
      type: 'warning' as const,
      reason: 'security',
      title: `An administrator changed the members of ${name}`,
      message,
    }))
  await notify(ctx, ...notices)
  return result
}

type MemberChange = { id: string; userId: string; role: Role }

export const addMember = write(
  'admin.addMember',
  recentAdmin(FRESH_MINUTES),
  async (ctx, input: MemberChange): Promise<Member> => {
    const team = await findTeam(ctx, input.id)
    const change = { userId: input.userId, did: (whom: string) => `added ${whom} as ${input.role}` }
    return changeMembers(ctx, team, change, () => members.addMemberDirectly(ctx, input))
  },
)

export const setMemberRole = write(
  'admin.setMemberRole',
  recentAdmin(FRESH_MINUTES),
  async (ctx, input: MemberChange): Promise<Member> => {
    const team = await findTeam(ctx, input.id)
    const change = { userId: input.userId, did: (whom: string) => `gave ${whom} the role ${input.role}` }
    return changeMembers(ctx, team, change, () => members.storeRole(ctx, input))
  },
)

export const removeMember = write(
  'admin.removeMember',
  recentAdmin(FRESH_MINUTES),
  async (
    ctx,
    { id, userId }: { id: string; userId: string },
  ): Promise<{ organizationId: string; userId: string; removed: true }> => {
    const team = await findTeam(ctx, id)
    const change = { userId, did: (whom: string) => `removed ${whom}` }
    return changeMembers(ctx, team, change, () => members.dropMember(ctx, team, userId))
  },
  { destructive: true },
)
