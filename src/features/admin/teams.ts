import { and, eq, isNull, or, sql } from 'drizzle-orm'
import { type Ctx, checkVersion, read, write } from '../../action.ts'
import { admin, type Role } from '../../auth/policy.ts'
import { contains } from '../../db/columns.ts'
import { notFound } from '../../errors.ts'
import { keyset } from '../../records/page.ts'
import { changeVersioned } from '../../records/rows.ts'
import { organizationUpdated } from '../organizations/events.ts'
import * as members from '../organizations/members.ts'
import type { Member, OrganizationPatch } from '../organizations/schema.ts'
import * as service from '../organizations/service.ts'
import { memberships, organizations } from '../organizations/table.ts'
import { projects } from '../projects/table.ts'
import { users } from '../users/table.ts'
import type { AdminTeam, AdminTeamDetail, AdminTeamPage, AdminTeamQuery } from './schema.ts'

/** Teams for administrators of the instance, who manage them without being members. */
const { role: _, ...shown } = service.visible
const visible = {
  ...shown,
  createdById: organizations.createdById,
  members: sql<number>`(select count(*)::int from ${memberships} m where m.organization_id = ${organizations}.id)`,
}
const listed = and(isNull(organizations.deletedAt), isNull(organizations.sandboxOf))

export const list = read('admin.teams', admin, async (ctx, query: AdminTeamQuery): Promise<AdminTeamPage> => {
  const page = keyset({ createdAt: organizations.createdAt, name: organizations.name }, organizations.id, query, {
    sort: 'createdAt',
  })
  const part = query.search?.trim()
  const filters = and(
    listed,
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

async function find(ctx: Ctx, id: string): Promise<AdminTeam> {
  const [found] = await ctx.db
    .select(visible)
    .from(organizations)
    .where(and(eq(organizations.id, id), listed))
  if (!found) throw notFound('organization', id)
  return found
}

async function detail(ctx: Ctx, id: string): Promise<AdminTeamDetail> {
  const team = await find(ctx, id)
  const owners = await ctx.db
    .select(members.visible)
    .from(memberships)
    .innerJoin(users, eq(users.id, memberships.userId))
    .where(and(eq(memberships.organizationId, id), eq(memberships.role, 'owner')))
    .orderBy(memberships.joinedAt, users.id)
    .limit(100)
  return {
    ...team,
    projects: await ctx.db.$count(projects, and(eq(projects.organizationId, id), isNull(projects.deletedAt))),
    owners,
  }
}

export const get = read('admin.team', admin, (ctx, { id }: { id: string }): Promise<AdminTeamDetail> => detail(ctx, id))

export const update = write(
  'admin.updateTeam',
  admin,
  async (ctx, { id, ...patch }: OrganizationPatch & { id: string }): Promise<AdminTeamDetail> => {
    const before = await find(ctx, id)
    checkVersion(ctx, before)
    service.checkSettings(patch.settings)
    await changeVersioned(ctx, organizations, {
      columns: { id: organizations.id, version: organizations.version },
      before,
      set: patch.name === undefined ? patch : { ...patch, name: patch.name.trim() },
      what: 'this team',
      again: () => find(ctx, id),
    })
    ctx.emit(organizationUpdated, { subjectId: id, organizationId: id, data: { fields: Object.keys(patch) } })
    return detail(ctx, id)
  },
  { versioned: true },
)

export const remove = write(
  'admin.removeTeam',
  admin,
  async (ctx, { id }: { id: string }): Promise<{ id: string; deleted: true }> => {
    const team = await find(ctx, id)
    checkVersion(ctx, team)
    return service.hide(ctx, team)
  },
  { destructive: true, versioned: true },
)

export const setMemberRole = write(
  'admin.setMemberRole',
  admin,
  async (ctx, { id, userId, role }: { id: string; userId: string; role: Role }): Promise<Member> => {
    await find(ctx, id)
    return members.putRole(ctx, { id, userId, role })
  },
)

export const removeMember = write(
  'admin.removeMember',
  admin,
  async (
    ctx,
    { id, userId }: { id: string; userId: string },
  ): Promise<{ organizationId: string; userId: string; removed: true }> => {
    return members.dropMember(ctx, await find(ctx, id), userId)
  },
  { destructive: true },
)
