import { and, eq, gt, isNull, or, type SQL, sql } from 'drizzle-orm'
import { type Ctx, read } from '../../action.ts'
import { admin } from '../../auth/policy.ts'
import { contains } from '../../db/columns.ts'
import { notFound } from '../../errors.ts'
import { keyset } from '../../records/page.ts'
import type { ReportedIssuePage, ReportedIssueQuery } from '../issues/schema.ts'
import * as issues from '../issues/service.ts'
import { issues as issueTable } from '../issues/table.ts'
import { notes } from '../notes/table.ts'
import { connectedAccounts } from '../oauth/table.ts'
import { memberships, organizations } from '../organizations/table.ts'
import { passkeys } from '../passkeys/table.ts'
import { projects } from '../projects/table.ts'
import { apiKeys, mcpTokens } from '../tokens/table.ts'
import { userColumns as account } from '../users/service.ts'
import { loginSessions, users } from '../users/table.ts'
import { userPermissions } from './refusals.ts'
import type {
  AdminUser,
  AdminUserDetail,
  AdminUserPage,
  AdminUserQuery,
  ListQuery,
  UserNotePage,
  UserProjectPage,
  UserSessionPage,
  UserTeamPage,
  UserTeamQuery,
} from './schema.ts'

const { preferences: _, ...shown } = account
/** Uses explicit aliases, because drizzle omits the table of a column in a select from a single table. */
const seen = sql`(select max(s.last_seen_at) from ${loginSessions} s
  where s.user_id = ${users}.id and s.impersonator_id is null)`
const lastSeenAt: SQL<string | null> = seen.mapWith(loginSessions.lastSeenAt)
const visible = { ...shown, lastSeenAt }

export const list = read('admin.users', admin, async (ctx, query: AdminUserQuery): Promise<AdminUserPage> => {
  const page = keyset({ createdAt: users.createdAt, name: users.name, email: users.email }, users.id, query, {
    sort: 'createdAt',
  })
  const part = query.search?.trim()
  const filters = and(
    part ? or(contains(users.name, part), contains(users.email, part), contains(users.handle, part)) : undefined,
    query.role && eq(users.role, query.role),
    query.status && eq(users.status, query.status),
  )
  const rows = await ctx.db
    .select(visible)
    .from(users)
    .where(page.where(filters))
    .orderBy(...page.orderBy)
    .limit(page.limit)
  return page.page(rows, query.total ? await ctx.db.$count(users, filters) : undefined)
})

export async function findAdminUser(ctx: Ctx, id: string): Promise<AdminUser> {
  const [found] = await ctx.db.select(visible).from(users).where(eq(users.id, id))
  if (!found) throw notFound('user', id)
  return found
}

export const get = read('admin.user', admin, async (ctx, { id }: { id: string }): Promise<AdminUserDetail> => {
  const user = await findAdminUser(ctx, id)
  const { db, now } = ctx
  const secrets = (table: typeof loginSessions | typeof apiKeys | typeof mcpTokens, counted?: SQL) =>
    db.$count(table, and(counted, eq(table.userId, id), isNull(table.revokedAt), gt(table.expiresAt, now)))
  const counts = {
    teams: await db.$count(
      memberships,
      and(
        eq(memberships.userId, id),
        sql`exists (select 1 from ${organizations}
          where ${organizations.id} = ${memberships.organizationId} and ${live})`,
      ),
    ),
    projects: await db.$count(projects, ownProjects(id)),
    notes: await db.$count(notes, ownNotes(id)),
    issues: await db.$count(issueTable, eq(issueTable.userId, id)),
    sessions: await secrets(loginSessions),
    apiKeys: await secrets(apiKeys),
    mcpTokens: await secrets(mcpTokens, isNull(mcpTokens.grantId)),
  }
  const [known] = await db
    .select({ password: sql<boolean>`${users.passwordHash} is not null` })
    .from(users)
    .where(eq(users.id, id))
  const providers = await db
    .select({ name: connectedAccounts.provider })
    .from(connectedAccounts)
    .where(eq(connectedAccounts.userId, id))
  const signIn = {
    password: known?.password ?? false,
    passkeys: await db.$count(passkeys, eq(passkeys.userId, id)),
    providers: providers.map((p) => p.name).sort(),
  }
  return { ...user, counts, signIn, can: await userPermissions(ctx, user) }
})

// ---- records of a user

const live = isNull(organizations.deletedAt)
const ownProjects = (userId: string) => and(eq(projects.createdById, userId), isNull(projects.deletedAt))
const ownNotes = (userId: string) => and(eq(notes.createdById, userId), isNull(notes.deletedAt))

type Of<Q> = Q & { id: string }

export const projectsOf = read(
  'admin.userProjects',
  admin,
  async (ctx, { id, ...query }: Of<ListQuery>): Promise<UserProjectPage> => {
    await findAdminUser(ctx, id)
    const page = keyset({ createdAt: projects.createdAt }, projects.id, query, { sort: 'createdAt' })
    const rows = await ctx.db
      .select({
        id: projects.id,
        createdAt: projects.createdAt,
        updatedAt: projects.updatedAt,
        organizationId: projects.organizationId,
        name: projects.name,
        slug: projects.slug,
        key: projects.key,
        visibility: projects.visibility,
        status: projects.status,
      })
      .from(projects)
      .where(page.where(ownProjects(id)))
      .orderBy(...page.orderBy)
      .limit(page.limit)
    return page.page(rows, query.total ? await ctx.db.$count(projects, ownProjects(id)) : undefined)
  },
)

/** Returns titles only: administrators may see which notes exist, not their content. */
export const notesOf = read(
  'admin.userNotes',
  admin,
  async (ctx, { id, ...query }: Of<ListQuery>): Promise<UserNotePage> => {
    await findAdminUser(ctx, id)
    const page = keyset({ createdAt: notes.createdAt }, notes.id, query, { sort: 'createdAt' })
    const rows = await ctx.db
      .select({
        id: notes.id,
        createdAt: notes.createdAt,
        updatedAt: notes.updatedAt,
        organizationId: notes.organizationId,
        projectId: notes.projectId,
        title: notes.title,
        scope: notes.scope,
      })
      .from(notes)
      .where(page.where(ownNotes(id)))
      .orderBy(...page.orderBy)
      .limit(page.limit)
    return page.page(rows, query.total ? await ctx.db.$count(notes, ownNotes(id)) : undefined)
  },
)

/** Includes ended sessions. */
export const sessionsOf = read(
  'admin.userSessions',
  admin,
  async (ctx, { id, ...query }: Of<ListQuery>): Promise<UserSessionPage> => {
    await findAdminUser(ctx, id)
    const page = keyset({ createdAt: loginSessions.createdAt }, loginSessions.id, query, { sort: 'createdAt' })
    const own = eq(loginSessions.userId, id)
    const rows = await ctx.db
      .select({
        id: loginSessions.id,
        via: loginSessions.via,
        impersonatorId: loginSessions.impersonatorId,
        device: loginSessions.device,
        userAgent: loginSessions.userAgent,
        ip: loginSessions.ip,
        createdAt: loginSessions.createdAt,
        lastSeenAt: loginSessions.lastSeenAt,
        expiresAt: loginSessions.expiresAt,
        revokedAt: loginSessions.revokedAt,
      })
      .from(loginSessions)
      .where(page.where(own))
      .orderBy(...page.orderBy)
      .limit(page.limit)
    return page.page(rows, query.total ? await ctx.db.$count(loginSessions, own) : undefined)
  },
)

export const teamsOf = read(
  'admin.userTeams',
  admin,
  async (ctx, { id, ...query }: Of<UserTeamQuery>): Promise<UserTeamPage> => {
    await findAdminUser(ctx, id)
    const page = keyset({ joinedAt: memberships.joinedAt, name: organizations.name }, organizations.id, query, {
      sort: 'joinedAt',
      order: 'asc',
    })
    const rows = await ctx.db
      .select({
        id: organizations.id,
        name: organizations.name,
        slug: organizations.slug,
        personal: organizations.personal,
        role: memberships.role,
        joinedAt: memberships.joinedAt,
      })
      .from(memberships)
      .innerJoin(organizations, and(eq(organizations.id, memberships.organizationId), live))
      .where(page.where(eq(memberships.userId, id)))
      .orderBy(...page.orderBy)
      .limit(page.limit)
    return page.page(rows, query.total ? (await get(ctx, { id })).counts.teams : undefined)
  },
)

export const issuesOf = read(
  'admin.userIssues',
  admin,
  async (ctx, { id, ...query }: Of<ReportedIssueQuery>): Promise<ReportedIssuePage> => {
    await findAdminUser(ctx, id)
    return issues.listAll(ctx, { ...query, userId: id })
  },
)
