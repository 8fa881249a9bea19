import { and, eq, isNull, type SQL, sql } from 'drizzle-orm'
import { type Ctx, checkVersion, read, write } from '../../action.ts'
import { member } from '../../auth/policy.ts'
import { notFound } from '../../errors.ts'
import { keyset } from '../../records/page.ts'
import { lastPosition, positionBehind, takeTurns } from '../../records/positions.ts'
import { changeVersioned } from '../../records/rows.ts'
import type { Project } from '../projects/schema.ts'
import * as projects from '../projects/service.ts'
import { requireOpenProject } from '../tasks/rows.ts'
import { tasks } from '../tasks/table.ts'
import type {
  Epic,
  EpicCreate,
  EpicPage,
  EpicPatch,
  OutlineQuery,
  Story,
  StoryCreate,
  StoryPage,
  StoryPatch,
} from './schema.ts'
import { epics, stories } from './table.ts'

/** Epics and stories: the levels above tasks. Every id of a path must belong to the one before it. */

export interface EpicPath {
  slug: string
  epicId: string
}
export interface StoryPath extends EpicPath {
  storyId: string
}

/** What was cancelled is no part of the work. */
const progressOf = (where: SQL): SQL<{ tasks: number; done: number }> =>
  sql`(select json_build_object('tasks', count(*)::int, 'done', (count(*) filter (where t.status = 'done'))::int)
    from ${tasks} t where t.deleted_at is null and t.status <> 'cancelled' and ${where})`.mapWith((value) =>
    typeof value === 'string' ? JSON.parse(value) : value,
  )

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
export const epicColumns = {
  ...columnsOf(epics),
  progress: progressOf(
    sql`t.story_id in (select s.id from ${stories} s where s.epic_id = ${epics.id} and s.deleted_at is null)`,
  ),
}
export const storyColumns = {
  ...columnsOf(stories),
  epicId: stories.epicId,
  points: stories.points,
  progress: progressOf(sql`t.story_id = ${stories.id}`),
}

export async function writable(ctx: Ctx, slug: string): Promise<Project> {
  const project = await projects.resolve(ctx, slug)
  requireOpenProject(ctx, project, 'Planning in this project')
  return project
}

export async function findEpic(ctx: Ctx, projectId: string, epicId: string): Promise<Epic> {
  const [found] = await ctx.db
    .select(epicColumns)
    .from(epics)
    .where(and(eq(epics.id, epicId), eq(epics.projectId, projectId), isNull(epics.deletedAt)))
  if (!found) throw notFound('epic', epicId)
  return found
}

export async function findStory(ctx: Ctx, projectId: string, epicId: string, storyId: string): Promise<Story> {
  await findEpic(ctx, projectId, epicId)
  const [found] = await ctx.db
    .select(storyColumns)
    .from(stories)
    .where(
      and(
        eq(stories.id, storyId),
        eq(stories.epicId, epicId),
        eq(stories.projectId, projectId),
        isNull(stories.deletedAt),
      ),
    )
  if (!found) throw notFound('story', storyId)
  return found
}

/** The whole path, for what stands below a story. */
export async function storyOf(ctx: Ctx, { slug, epicId, storyId }: StoryPath): Promise<Story> {
  const project = await projects.resolve(ctx, slug)
  return findStory(ctx, project.id, epicId, storyId)
}

export const announce = (ctx: Ctx, type: string, row: Epic | Story, data: Record<string, unknown> = {}): void =>
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
    const page = keyset(
      { position: epics.position, createdAt: epics.createdAt, updatedAt: epics.updatedAt },
      epics.id,
      query,
      {
        sort: 'position',
        order: 'asc',
      },
    )
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

export const getEpic = read(
  'planning.getEpic',
  member('tasks:read'),
  async (ctx, { slug, epicId }: EpicPath): Promise<Epic> => {
    const project = await projects.resolve(ctx, slug)
    return findEpic(ctx, project.id, epicId)
  },
)

export const createEpic = write(
  'planning.createEpic',
  member('tasks:write'),
  async (ctx, { slug, ...input }: EpicCreate & { slug: string }): Promise<Epic> => {
    const project = await writable(ctx, slug)
    await takeTurns(ctx, project.id)
    const position = (await lastPosition(ctx, epics, eq(epics.projectId, project.id))) + 1
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
    const row = { table: epics, siblings: eq(epics.projectId, project.id), project: before }
    const moved = after === undefined ? {} : { position: await positionBehind(ctx, row, epicId, after) }
    await change(ctx, epics, before, { ...trimmed(patch), ...moved }, () => findEpic(ctx, project.id, epicId))
    const epic = await findEpic(ctx, project.id, epicId)
    announce(ctx, 'epic.updated', epic, { fields: Object.keys({ ...patch, ...moved }) })
    return epic
  },
  { versioned: true },
)

// ---- stories

export const listStories = read(
  'planning.listStories',
  member('tasks:read'),
  async (ctx, { slug, epicId, ...query }: OutlineQuery & EpicPath): Promise<StoryPage> => {
    const project = await projects.resolve(ctx, slug)
    await findEpic(ctx, project.id, epicId)
    const page = keyset(
      { position: stories.position, createdAt: stories.createdAt, updatedAt: stories.updatedAt },
      stories.id,
      query,
      {
        sort: 'position',
        order: 'asc',
      },
    )
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

export const getStory = read(
  'planning.getStory',
  member('tasks:read'),
  (ctx, path: StoryPath): Promise<Story> => storyOf(ctx, path),
)

export const createStory = write(
  'planning.createStory',
  member('tasks:write'),
  async (ctx, { slug, epicId, points, ...input }: StoryCreate & EpicPath): Promise<Story> => {
    const project = await writable(ctx, slug)
    await takeTurns(ctx, project.id)
    await findEpic(ctx, project.id, epicId)
    const position = (await lastPosition(ctx, stories, eq(stories.epicId, epicId))) + 1
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
  async (
    ctx,
    { slug, epicId, storyId, after, ...patch }: Omit<StoryPatch, 'epicId'> & StoryPath & { to?: string },
  ): Promise<Story> => {
    const project = await writable(ctx, slug)
    const before = await findStory(ctx, project.id, epicId, storyId)
    checkVersion(ctx, before)
    const { to = epicId, ...fields } = patch
    const moved = await storyPlace(ctx, before, to, after)
    await change(ctx, stories, before, { ...trimmed(fields), ...moved }, () =>
      findStory(ctx, project.id, epicId, storyId),
    )
    const story = await findStory(ctx, project.id, to, storyId)
    announce(ctx, 'story.updated', story, { fields: Object.keys({ ...fields, ...moved }) })
    return story
  },
  { versioned: true },
)

/** In another epic it goes to the end, unless told behind which one. */
async function storyPlace(ctx: Ctx, story: Story, epicId: string, after: string | null | undefined) {
  if (epicId === story.epicId && after === undefined) return {}
  await takeTurns(ctx, story.projectId)
  if (epicId !== story.epicId) await findEpic(ctx, story.projectId, epicId)
  const siblings = eq(stories.epicId, epicId)
  if (after !== undefined)
    return {
      epicId,
      position: await positionBehind(ctx, { table: stories, siblings, project: story }, story.id, after),
    }
  return { epicId, position: (await lastPosition(ctx, stories, siblings)) + 1 }
}

const trimmed = <T extends { title?: string }>(patch: T): T =>
  patch.title === undefined ? patch : { ...patch, title: patch.title.trim() }

export async function change(
  ctx: Ctx,
  table: typeof epics | typeof stories,
  { id, version }: Epic | Story,
  set: object,
  again: () => Promise<object>,
): Promise<void> {
  const columns = { id: table.id, version: table.version }
  await changeVersioned(ctx, table, { columns, before: { id, version }, set, what: 'it', again })
}
