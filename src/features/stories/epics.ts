import { and, eq, isNull } from 'drizzle-orm'
import { checkVersion, read, write } from '../../action.ts'
import { member } from '../../auth/policy.ts'
import { openCondition } from '../../records/open.ts'
import { keyset } from '../../records/page.ts'
import { lastPosition, positionAfterSibling } from '../../records/positions.ts'
import { lockProject } from '../projects/lock.ts'
import * as projects from '../projects/rows.ts'
import { epicCreated, epicUpdated } from './events.ts'
import {
  changeStoryRow,
  type EpicPath,
  epicColumns,
  findEpic,
  findPlannableProject,
  newStoryRow,
  storyEvent,
  trimTitle,
  withProgress,
} from './rows.ts'
import type { Epic, EpicCreate, EpicPage, EpicPatch, OutlineQuery } from './schema.ts'
import { epics } from './table.ts'

export const listEpics = read(
  'stories.listEpics',
  member('tasks:read'),
  async (ctx, { slug, ...query }: OutlineQuery & { slug: string }): Promise<EpicPage> => {
    const { id } = await projects.findProject(ctx, slug)
    const page = keyset(
      { position: epics.position, createdAt: epics.createdAt, updatedAt: epics.updatedAt },
      epics.id,
      query,
      {
        sort: 'position',
        order: 'asc',
      },
    )
    const own = and(eq(epics.projectId, id), isNull(epics.deletedAt), openCondition(epics.status, query.open))
    const rows = await ctx.db
      .select(epicColumns)
      .from(epics)
      .where(page.where(own))
      .orderBy(...page.orderBy)
      .limit(page.limit)
    return page.page(await withProgress(ctx, 'epic', rows), query.total ? await ctx.db.$count(epics, own) : undefined)
  },
)

export const getEpic = read(
  'stories.getEpic',
  member('tasks:read'),
  async (ctx, { slug, epicId }: EpicPath): Promise<Epic> => {
    const project = await projects.findProject(ctx, slug)
    return findEpic(ctx, project.id, epicId)
  },
)

export const createEpic = write(
  'stories.createEpic',
  member('tasks:write'),
  async (ctx, { slug, ...input }: EpicCreate & { id?: string; slug: string }): Promise<Epic> => {
    const project = await findPlannableProject(ctx, slug)
    await lockProject(ctx, project.id)
    const position = (await lastPosition(ctx, epics, eq(epics.projectId, project.id))) + 1
    const [row] = await ctx.db
      .insert(epics)
      .values({ ...newStoryRow(ctx, project, input), position })
      .returning({ id: epics.id })
    const epic = await findEpic(ctx, project.id, (row as { id: string }).id)
    ctx.emit(epicCreated, storyEvent(epic))
    return epic
  },
)

export const updateEpic = write(
  'stories.updateEpic',
  member('tasks:write'),
  async (ctx, { slug, epicId, after, ...patch }: EpicPatch & EpicPath): Promise<Epic> => {
    const project = await findPlannableProject(ctx, slug)
    const before = await findEpic(ctx, project.id, epicId)
    checkVersion(ctx, before)
    const row = { table: epics, siblings: eq(epics.projectId, project.id), project: before }
    if (after !== undefined) await lockProject(ctx, project.id)
    const moved = after === undefined ? {} : { position: await positionAfterSibling(ctx, row, epicId, after) }
    await changeStoryRow(ctx, epics, before, { ...trimTitle(patch), ...moved }, () => findEpic(ctx, project.id, epicId))
    const epic = await findEpic(ctx, project.id, epicId)
    ctx.emit(epicUpdated, storyEvent(epic, { fields: Object.keys({ ...patch, ...moved }) }))
    return epic
  },
  { versioned: true },
)
