import { desc, eq, isNull, type SQL } from 'drizzle-orm'
import { type Ctx, checkVersion, read, write } from '../../action.ts'
import { currentOrganization, teamsToList } from '../../auth/actor.ts'
import { anyone, byRow, includePermissions, member, permissionOf, ruleRefusal, wholeTeam } from '../../auth/policy.ts'
import { rightsOf } from '../../auth/rights.ts'
import { anyOf, idList, matches } from '../../db/columns.ts'
import { and } from '../../db/conditions.ts'
import { notFound } from '../../errors.ts'
import { events } from '../../events/table.ts'
import { feedColumns, isInFeedOf, isWorkEvent, toFeedEntry } from '../../records/feed.ts'
import { keyset } from '../../records/page.ts'
import { requirePlanRoom } from '../organizations/plans.ts'
import { organizations } from '../organizations/table.ts'
import { users } from '../users/table.ts'
import { projectArchived, projectCreated, projectRestored, projectUpdated } from './events.ts'
import { projectStats, projectWork } from './hooks.ts'
import { freeKey, freeSlug, leastUsedColor, lockTeam } from './names.ts'
import { projectPermissions } from './refusals.ts'
import { changeProject, findProject, findWritableProject, projectColumns, projectEvent, visibleTo } from './rows.ts'
import type {
  Project,
  ProjectCreate,
  ProjectDetail,
  ProjectPage,
  ProjectPatch,
  ProjectQuery,
  ProjectStats,
  ProjectsQuery,
  ProjectWork,
  PublicProject,
} from './schema.ts'
import { projects } from './table.ts'
import { isPublic } from './visible.ts'
import {
  checkProjectSettings,
  requireGatekeeper,
  requireSameSkills,
  requireWholeTeam,
  withFormerAcceptance,
} from './workflow/workflow-settings.ts'

/** Lists the projects in a place (a team or workspace) that the caller may see. */
export async function listIn(ctx: Ctx, place: SQL, query: ProjectQuery): Promise<ProjectPage> {
  const page = keyset(
    { updatedAt: projects.updatedAt, createdAt: projects.createdAt, name: projects.name },
    projects.id,
    query,
    {
      sort: 'updatedAt',
    },
  )
  const filters = and(
    visibleTo(rightsOf(ctx.actor)),
    place,
    query.status === 'all' ? undefined : eq(projects.status, query.status ?? 'active'),
    query.search ? matches(projects.search, query.search) : undefined,
  )
  const rows = await ctx.db
    .select(projectColumns)
    .from(projects)
    .where(page.where(filters))
    .orderBy(...page.orderBy)
    .limit(page.limit)
  return page.page(await withWork(ctx, rows), query.total ? await ctx.db.$count(projects, filters) : undefined)
}

const projectCreateRule = wholeTeam(member('projects:write'))

/** Lists the projects of one of the caller's teams, or of all of them. */
export const list = read(
  'projects.list',
  member('projects:read'),
  async (ctx, { organizationId, ...query }: ProjectsQuery): Promise<ProjectPage> => ({
    ...(await listIn(ctx, anyOf(projects.organizationId, idList(teamsToList(ctx.actor, organizationId))), query)),
    ...includePermissions(ctx.actor, () => ({
      create: permissionOf(ruleRefusal(ctx.actor, projectCreateRule, 'projects.create', ctx.app.clock)),
    })),
  }),
)

/** Lists the projects of one of the caller's teams, whichever is the current one. */
export const listInTeam = read(
  'projects.listInTeam',
  byRow('projects:read'),
  (ctx, { team, ...query }: ProjectQuery & { team: string }): Promise<ProjectPage> =>
    listIn(ctx, eq(projects.organizationId, team), query),
)

const emptyWork: ProjectWork = {
  tasks: 0,
  tasksDone: 0,
  tasksDoneByAgents: 0,
  open: 0,
  inReview: 0,
  blocked: 0,
  features: 0,
  openGates: 0,
  atWork: 0,
  agentsAtWork: 0,
}

async function withWork(ctx: Ctx, rows: readonly Project[]): Promise<(Project & { stats: ProjectWork })[]> {
  if (rows.length === 0) return []
  const known = await projectWork.call(ctx, { projects: rows })
  return rows.map((row) => ({ ...row, stats: Object.assign({}, emptyWork, ...known.map((part) => part.get(row.id))) }))
}

async function statsOf(ctx: Ctx, projectId: string): Promise<ProjectStats> {
  const counted = await projectStats.call(ctx, { projectId })
  return Object.assign({ notes: 0, tasks: 0, tasksDone: 0 }, ...counted)
}

export const get = read(
  'projects.get',
  member('projects:read'),
  async (ctx, { ref }: { ref: string }): Promise<ProjectDetail> => {
    const project = await findProject(ctx, ref)
    const recent = await ctx.db
      .select(feedColumns)
      .from(events)
      // Leaves out activity from before a move between teams: it names people and records that stayed in the old team.
      .where(
        and(
          eq(events.projectId, project.id),
          eq(events.organizationId, project.organizationId),
          isInFeedOf(ctx),
          isWorkEvent(ctx.app.events),
        ),
      )
      .orderBy(desc(events.seq))
      .limit(10)
    const recentActivity = recent.map((event) => toFeedEntry(ctx.app.events, event))
    const [worked] = await withWork(ctx, [project])
    const stats = { ...worked?.stats, ...(await statsOf(ctx, project.id)) }
    return { ...project, stats, recentActivity, can: projectPermissions(ctx, project) }
  },
)

export const create = write(
  'projects.create',
  projectCreateRule,
  async (ctx, input: ProjectCreate & { id?: string }): Promise<Project> => {
    const organizationId = currentOrganization(ctx.actor)
    checkProjectSettings(input.settings)
    requireGatekeeper(ctx, { organizationId, createdById: ctx.actor.userId, settings: {} }, input.settings)
    await lockTeam(ctx, organizationId)
    await requirePlanRoom(ctx, organizationId, 'projects')
    const [project] = await ctx.db
      .insert(projects)
      .values({
        id: input.id,
        organizationId,
        createdById: ctx.actor.userId,
        name: input.name.trim(),
        slug: await freeSlug(ctx, organizationId, input.name),
        key: await freeKey(ctx, organizationId, input.name, input.key),
        description: input.description,
        color: input.color ?? (await leastUsedColor(ctx, organizationId)),
        visibility: input.visibility ?? 'team',
        settings: input.settings ?? {},
        createdAt: ctx.now,
        updatedAt: ctx.now,
      })
      .returning(projectColumns)
    if (!project) throw new Error('insert returned nothing')
    ctx.emit(projectCreated, projectEvent(project))
    return project
  },
)

/** The slug stays when the name changes, so that links keep working. */
export const update = write(
  'projects.update',
  member('projects:write'),
  async (ctx, { ref, ...patch }: ProjectPatch & { ref: string }): Promise<Project> => {
    const before = await findWritableProject(ctx, ref)
    checkVersion(ctx, before)
    checkProjectSettings(patch.settings)
    const settings = patch.settings && withFormerAcceptance(patch.settings, before.settings)
    requireGatekeeper(ctx, before, settings)
    requireSameSkills(ctx, before.settings, settings)
    if (patch.key && patch.key !== before.key) {
      requireWholeTeam(ctx, 'Changing the key of a project')
      await lockTeam(ctx, before.organizationId)
      await freeKey(ctx, before.organizationId, before.name, patch.key)
    }
    const after = await changeProject(ctx, before, {
      ...patch,
      ...(patch.name !== undefined && { name: patch.name.trim() }),
      ...(settings && { settings }),
    })
    ctx.emit(projectUpdated, projectEvent(after, { fields: Object.keys(patch) }))
    return after
  },
  { versioned: true },
)

export const archive = write(
  'projects.archive',
  member('projects:write'),
  async (ctx, { ref, restore = false }: { ref: string; restore?: boolean }): Promise<Project> => {
    const before = await findWritableProject(ctx, ref)
    checkVersion(ctx, before)
    const status = restore ? 'active' : 'archived'
    if (before.status === status) return before
    const after = await changeProject(ctx, before, { status, archivedAt: restore ? null : ctx.now })
    ctx.emit(restore ? projectRestored : projectArchived, projectEvent(after))
    return after
  },
  { idempotent: true, versioned: true },
)

export const getPublic = read(
  'projects.getPublic',
  anyone,
  async (ctx, { user, slug }: { user: string; slug: string }): Promise<PublicProject> => {
    const [found] = await ctx.db
      .select({ ...projectColumns, ownerHandle: users.handle, ownerName: users.name })
      .from(projects)
      .innerJoin(users, eq(users.id, projects.createdById))
      .innerJoin(
        organizations,
        and(
          eq(organizations.id, projects.organizationId),
          isNull(organizations.deletedAt),
          isNull(organizations.sandboxOf),
        ),
      )
      .where(and(eq(users.handle, user.toLowerCase()), eq(projects.slug, slug.toLowerCase()), isPublic))
      // A person may own this slug in two organizations; the older project keeps the address.
      .orderBy(projects.createdAt, projects.id)
      .limit(1)
    if (!found) throw notFound('project', `${user}/${slug}`)
    return {
      id: found.id,
      name: found.name,
      slug: found.slug,
      description: found.description,
      owner: { handle: found.ownerHandle, name: found.ownerName },
      archived: found.status === 'archived',
      stats: await statsOf(ctx, found.id),
      updatedAt: found.updatedAt,
    }
  },
)
