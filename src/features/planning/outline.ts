import { and, eq, gt, isNull, ne, type SQL, sql } from 'drizzle-orm'
import { type Ctx, checkVersion, read, write } from '../../action.ts'
import { member, requireRoleOn } from '../../auth/policy.ts'
import { keyset } from '../../db/page.ts'
import { changeVersioned } from '../../db/records.ts'
import { AppError, notFound } from '../../errors.ts'
import type { Project } from '../projects/schema.ts'
import * as projects from '../projects/service.ts'
import { tasks } from '../tasks/table.ts'
import type { Epic, EpicCreate, EpicPage, EpicPatch, OutlineQuery, Story, StoryCreate, StoryPage, StoryPatch } from './schema.ts'
import { epics, stories } from './table.ts'

/** Epics and stories: the levels above tasks. Every id of a path must belong to the one before it. */

export interface EpicPath {
  slug: string
  epicId: string
}
export interface StoryPath extends EpicPath {
  storyId: string
}

const progressOf = (where: SQL): SQL<{ tasks: number; done: number }> =>
  sql`(select json_build_object('tasks', count(*)::int, 'done', (count(*) filter (where t.status = 'done'))::int)
    from ${tasks} t where t.deleted_at is null and ${where})`.mapWith((value) => (typeof value === 'string' ? JSON.parse(value) : value))

const columnsOf = (table: typeof epics | typeof stories) => ({
  id: table.id,
  createdAt: table.createdAt,
  updatedAt: table.updatedAt,
  version: table.version,
  organizationId: table.organizationId,
  projectId: table.projectId,
  createdById: table.createdById,
  title: table.title,
  description: table.description,
  status: table.status,
  priority: table.priority,
  position: table.position,
})
const epicColumns = {
  ...columnsOf(epics),
  progress: progressOf(sql`t.story_id in (select s.id from ${stories} s where s.epic_id = ${epics.id} and s.deleted_at is null)`),
}
const storyColumns = {
  ...columnsOf(stories),
  epicId: stories.epicId,
  points: stories.points,
  progress: progressOf(sql`t.story_id = ${stories.id}`),
}

async function writable(ctx: Ctx, slug: string): Promise<Project> {
  const project = await projects.resolve(ctx, slug)
  requireRoleOn(ctx.actor, project, 'member', 'Planning in this project')
  if (project.status === 'archived') throw new AppError('conflict', `${project.name} is archived. Restore it first.`)
  return project
}

async function findEpic(ctx: Ctx, projectId: string, epicId: string): Promise<Epic> {
  const [found] = await ctx.db
    .select(epicColumns)
    .from(epics)
    .where(and(eq(epics.id, epicId), eq(epics.projectId, projectId), isNull(epics.deletedAt)))
  if (!found) throw notFound('epic', epicId)
  return found
}

async function findStory(ctx: Ctx, projectId: string, epicId: string, storyId: string): Promise<Story> {
  await findEpic(ctx, projectId, epicId)
  const [found] = await ctx.db
    .select(storyColumns)
    .from(stories)
    .where(and(eq(stories.id, storyId), eq(stories.epicId, epicId), eq(stories.projectId, projectId), isNull(stories.deletedAt)))
  if (!found) throw notFound('story', storyId)
  return found
}

/** The whole path, for what stands below a story. */
export async function storyOf(ctx: Ctx, { slug, epicId, storyId }: StoryPath): Promise<Story> {
  const project = await projects.resolve(ctx, slug)
  return findStory(ctx, project.id, epicId, storyId)
}

/** Behind a sibling (null: first; undefined: last), between it and the next one, so that nobody else has to move. */
async function positionIn(
  ctx: Ctx,
  table: typeof epics | typeof stories,
  siblings: SQL,
  after: string | null | undefined,
): Promise<number> {
  const live = and(siblings, isNull(table.deletedAt))
  const edge = async (pick: SQL, where: SQL | undefined): Promise<number | undefined> => {
    const [row] = await ctx.db
      .select({ at: sql<number | null>`${pick}` })
      .from(table)
      .where(and(live, where))
    return row?.at === null || row?.at === undefined ? undefined : Number(row.at)
  }
  if (after === undefined) return ((await edge(sql`max(${table.position})`, undefined)) ?? 0) + 1
  const low = after === null ? undefined : await edge(sql`min(${table.position})`, eq(table.id, after))
  if (after !== null && low === undefined) throw notFound('sibling', after)
  const high = await edge(sql`min(${table.position})`, low === undefined ? undefined : gt(table.position, low))
  if (low === undefined) return (high ?? 1) - 1
  return high === undefined ? low + 1 : (low + high) / 2
}

const announce = (ctx: Ctx, type: string, row: Epic | Story, data: Record<string, unknown> = {}): void =>
  ctx.emit(type, {
    subjectId: row.id,
    organizationId: row.organizationId,
    projectId: row.projectId,
    data: { title: row.title, status: row.status, version: row.version, ...data },
  })

const born = (ctx: Ctx, project: Project, input: EpicCreate) => ({
  organizationId: project.organizationId,
  projectId: project.id,
  createdById: ctx.actor.userId,
  title: input.title.trim(),
  description: input.description,
  status: input.status ?? ('todo' as const),
  priority: input.priority ?? ('medium' as const),
  createdAt: ctx.now,
  updatedAt: ctx.now,
})

// ---- epics

export const listEpics = read(
  'planning.listEpics',
  member('tasks:read'),
  async (ctx, { slug, ...query }: OutlineQuery & { slug: string }): Promise<EpicPage> => {
    const { id } = await projects.resolve(ctx, slug)
    const page = keyset({ position: epics.position, createdAt: epics.createdAt, updatedAt: epics.updatedAt }, epics.id, query, {
      sort: 'position',
      order: 'asc',
    })
    const own = and(eq(epics.projectId, id), isNull(epics.deletedAt))
    const rows = await ctx.db
      .select(epicColumns)
      .from(epics)
      .where(page.where(own))
      .orderBy(...page.orderBy)
      .limit(page.limit)
    return page.page(rows, query.total ? await ctx.db.$count(epics, own) : undefined)
  },
)

export const getEpic = read('planning.getEpic', member('tasks:read'), async (ctx, { slug, epicId }: EpicPath): Promise<Epic> => {
  const project = await projects.resolve(ctx, slug)
  return findEpic(ctx, project.id, epicId)
})

export const createEpic = write(
  'planning.createEpic',
  member('tasks:write'),
  async (ctx, { slug, ...input }: EpicCreate & { slug: string }): Promise<Epic> => {
    const project = await writable(ctx, slug)
    const position = await positionIn(ctx, epics, eq(epics.projectId, project.id), undefined)
    const [row] = await ctx.db
      .insert(epics)
      .values({ ...born(ctx, project, input), position })
      .returning({ id: epics.id })
    const epic = await findEpic(ctx, project.id, (row as { id: string }).id)
    announce(ctx, 'epic.created', epic)
    return epic
  },
)

export const updateEpic = write(
  'planning.updateEpic',
  member('tasks:write'),
  async (ctx, { slug, epicId, after, ...patch }: EpicPatch & EpicPath): Promise<Epic> => {
    const project = await writable(ctx, slug)
    const before = await findEpic(ctx, project.id, epicId)
    checkVersion(ctx, before)
    const siblings = and(eq(epics.projectId, project.id), ne(epics.id, epicId)) as SQL
    const moved = after === undefined ? {} : { position: await positionIn(ctx, epics, siblings, after) }
    await change(ctx, epics, before, { ...trimmed(patch), ...moved }, () => findEpic(ctx, project.id, epicId))
    const epic = await findEpic(ctx, project.id, epicId)
    announce(ctx, 'epic.updated', epic, { fields: Object.keys(patch) })
    return epic
  },
  { versioned: true },
)

export const removeEpic = write(
  'planning.removeEpic',
  member('tasks:write'),
  async (ctx, { slug, epicId }: EpicPath): Promise<{ id: string; deleted: true }> => {
    const project = await writable(ctx, slug)
    const before = await findEpic(ctx, project.id, epicId)
    checkVersion(ctx, before)
    const gone = { deletedAt: ctx.now, updatedAt: ctx.now }
    await ctx.db
      .update(tasks)
      .set({ ...gone, version: sql`${tasks.version} + 1` })
      .where(and(isNull(tasks.deletedAt), sql`${tasks.storyId} in (select id from ${stories} where epic_id = ${epicId})`))
    await ctx.db
      .update(stories)
      .set({ ...gone, version: sql`${stories.version} + 1` })
      .where(and(isNull(stories.deletedAt), eq(stories.epicId, epicId)))
    await change(ctx, epics, before, gone, () => findEpic(ctx, project.id, epicId))
    announce(ctx, 'epic.deleted', before)
    return { id: epicId, deleted: true }
  },
  { destructive: true, versioned: true },
)

// ---- stories

export const listStories = read(
  'planning.listStories',
  member('tasks:read'),
  async (ctx, { slug, epicId, ...query }: OutlineQuery & EpicPath): Promise<StoryPage> => {
    const project = await projects.resolve(ctx, slug)
    await findEpic(ctx, project.id, epicId)
    const page = keyset({ position: stories.position, createdAt: stories.createdAt, updatedAt: stories.updatedAt }, stories.id, query, {
      sort: 'position',
      order: 'asc',
    })
    const own = and(eq(stories.epicId, epicId), isNull(stories.deletedAt))
    const rows = await ctx.db
      .select(storyColumns)
      .from(stories)
      .where(page.where(own))
      .orderBy(...page.orderBy)
      .limit(page.limit)
    return page.page(rows, query.total ? await ctx.db.$count(stories, own) : undefined)
  },
)

export const getStory = read('planning.getStory', member('tasks:read'), (ctx, path: StoryPath): Promise<Story> => storyOf(ctx, path))

export const createStory = write(
  'planning.createStory',
  member('tasks:write'),
  async (ctx, { slug, epicId, points, ...input }: StoryCreate & EpicPath): Promise<Story> => {
    const project = await writable(ctx, slug)
    await findEpic(ctx, project.id, epicId)
    const position = await positionIn(ctx, stories, eq(stories.epicId, epicId), undefined)
    const [row] = await ctx.db
      .insert(stories)
      .values({ ...born(ctx, project, input), epicId, points, position })
      .returning({ id: stories.id })
    const story = await findStory(ctx, project.id, epicId, (row as { id: string }).id)
    announce(ctx, 'story.created', story)
    return story
  },
)

export const updateStory = write(
  'planning.updateStory',
  member('tasks:write'),
  async (ctx, { slug, epicId, storyId, after, ...patch }: Omit<StoryPatch, 'epicId'> & StoryPath & { to?: string }): Promise<Story> => {
    const project = await writable(ctx, slug)
    const before = await findStory(ctx, project.id, epicId, storyId)
    checkVersion(ctx, before)
    const { to = epicId, ...fields } = patch
    if (to !== epicId) await findEpic(ctx, project.id, to)
    const siblings = and(eq(stories.epicId, to), ne(stories.id, storyId)) as SQL
    const moved = after === undefined && to === epicId ? {} : { position: await positionIn(ctx, stories, siblings, after), epicId: to }
    await change(ctx, stories, before, { ...trimmed(fields), ...moved }, () => findStory(ctx, project.id, epicId, storyId))
    const story = await findStory(ctx, project.id, to, storyId)
    announce(ctx, 'story.updated', story, { fields: Object.keys(fields) })
    return story
  },
  { versioned: true },
)

export const removeStory = write(
  'planning.removeStory',
  member('tasks:write'),
  async (ctx, { slug, epicId, storyId }: StoryPath): Promise<{ id: string; deleted: true }> => {
    const project = await writable(ctx, slug)
    const before = await findStory(ctx, project.id, epicId, storyId)
    checkVersion(ctx, before)
    const gone = { deletedAt: ctx.now, updatedAt: ctx.now }
    await ctx.db
      .update(tasks)
      .set({ ...gone, version: sql`${tasks.version} + 1` })
      .where(and(isNull(tasks.deletedAt), eq(tasks.storyId, storyId)))
    await change(ctx, stories, before, gone, () => findStory(ctx, project.id, epicId, storyId))
    announce(ctx, 'story.deleted', before)
    return { id: storyId, deleted: true }
  },
  { destructive: true, versioned: true },
)

const trimmed = <T extends { title?: string }>(patch: T): T => (patch.title === undefined ? patch : { ...patch, title: patch.title.trim() })

async function change(
  ctx: Ctx,
  table: typeof epics | typeof stories,
  { id, version }: Epic | Story,
  set: object,
  again: () => Promise<object>,
): Promise<void> {
  const columns = { id: table.id, version: table.version }
  await changeVersioned(ctx, table, { columns, before: { id, version }, set, what: 'it', again })
}
