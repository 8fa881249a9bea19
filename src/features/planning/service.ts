import { and, eq, isNull, sql } from 'drizzle-orm'
import { type Ctx, read, write } from '../../action.ts'
import { member, requireRoleOn } from '../../auth/policy.ts'
import { newId } from '../../db/columns.ts'
import { AppError, invalid } from '../../errors.ts'
import type { Project } from '../projects/schema.ts'
import * as projects from '../projects/service.ts'
import { projects as projectTable } from '../projects/table.ts'
import type { Priority, Status } from '../tasks/schema.ts'
import { taskDependencies, tasks } from '../tasks/table.ts'
import type { PlanCreate, Tree, TreeEpic, TreeStory, TreeTask } from './schema.ts'
import { epics, stories } from './table.ts'

/** The whole structure of a project, read in one query. */
export const tree = read(
  'planning.tree',
  member('projects:read'),
  async (ctx, { ref }: { ref: string }): Promise<Tree> => treeOf(ctx, await projects.resolve(ctx, ref)),
)

type Row = {
  kind: 'epic' | 'story' | 'task'
  id: string
  parent: string | null
  title: string
  status: Status
  priority: Priority
  number: number | null
  points: number | null
  blockers: string | null
}

async function treeOf(ctx: Ctx, project: Project): Promise<Tree> {
  const { rows } = await ctx.db.execute<Row>(sql`
    select 'epic' as kind, id, null::uuid as parent, title, status, priority, null::int as number, null::int as points, null as blockers, position
      from ${epics} where project_id = ${project.id} and deleted_at is null
    union all select 'story', id, epic_id, title, status, priority, null, points, null, position
      from ${stories} where project_id = ${project.id} and deleted_at is null
    union all select 'task', t.id, story_id, title, status, priority, number, null,
        (select string_agg(b.number::text, ',' order by b.number) from ${taskDependencies} d join ${tasks} b on b.id = d.blocked_by_id and b.deleted_at is null
          where d.task_id = t.id and d.kind = 'blocks'), position
      from ${tasks} t where project_id = ${project.id} and deleted_at is null
    order by position, id`)
  const found: Tree = { project: { id: project.id, name: project.name, slug: project.slug, key: project.key }, epics: [], tasks: [] }
  const epicsById = new Map<string, TreeEpic>()
  const storiesById = new Map<string, TreeStory>()
  const of = (kind: Row['kind']) => rows.filter((r) => r.kind === kind)
  for (const { id, title, status, priority } of of('epic')) epicsById.set(id, { id, title, status, priority, stories: [] })
  for (const { id, title, status, priority, points, parent } of of('story')) {
    const story: TreeStory = { id, title, status, priority, points, tasks: [] }
    storiesById.set(id, story)
    epicsById.get(parent as string)?.stories.push(story)
  }
  for (const { id, title, status, priority, number, blockers, parent } of of('task')) {
    const task: TreeTask = {
      id,
      title,
      status,
      priority,
      key: `${project.key}-${number}`,
      blockedBy: blockers?.split(',').map((n) => `${project.key}-${n}`) ?? [],
    }
    if (parent) storiesById.get(parent)?.tasks.push(task)
    else found.tasks.push(task)
  }
  found.epics.push(...epicsById.values())
  return found
}

/** Epics, stories, tasks and their order of work, all or nothing. */
export const createPlan = write(
  'planning.createPlan',
  member('tasks:write'),
  async (ctx, { ref, ...plan }: PlanCreate & { ref: string }): Promise<Tree> => {
    const project = await projects.resolve(ctx, ref)
    requireRoleOn(ctx.actor, project, 'member', 'Planning in this project')
    if (project.status === 'archived')
      throw new AppError('conflict', 'This project is archived. Restore it first: archive_project with restore.')
    const flat = flatten(plan)
    const items = flat.epics.length + flat.stories.length + flat.tasks.length
    if (items > 500)
      throw invalid('/epics', 'A plan has 500 epics, stories and tasks at most. Make the rest with a second plan.', 'too_many')
    const blockers = dependenciesOf(flat.tasks)
    if (blockers.length > 2000) throw invalid('/epics', 'A plan has 2,000 dependencies at most.', 'too_many')
    const first = await takeNumbers(ctx, project.id, flat.tasks.length)
    const shared = {
      organizationId: project.organizationId,
      projectId: project.id,
      createdById: ctx.actor.userId,
      status: 'todo' as const,
      createdAt: ctx.now,
      updatedAt: ctx.now,
    }
    const start = await lastPosition(ctx, project.id)
    if (flat.epics.length > 0) await ctx.db.insert(epics).values(flat.epics.map((e, i) => ({ ...shared, ...e, position: start + i + 1 })))
    if (flat.stories.length > 0)
      await ctx.db.insert(stories).values(flat.stories.map((s, i) => ({ ...shared, ...s, position: start + i + 1 })))
    if (flat.tasks.length > 0)
      await ctx.db.insert(tasks).values(
        flat.tasks.map(({ ref: _, blockedBy: __, at: ___, ...t }, i) => ({
          ...shared,
          ...t,
          number: first + i,
          position: start + i + 1,
        })),
      )
    if (blockers.length > 0) await ctx.db.insert(taskDependencies).values(blockers.map((d) => ({ ...d, createdAt: ctx.now })))
    ctx.emit('plan.created', {
      subjectId: project.id,
      organizationId: project.organizationId,
      projectId: project.id,
      data: { epics: flat.epics.length, stories: flat.stories.length, tasks: flat.tasks.length },
    })
    return treeOf(ctx, project)
  },
)

type FlatTask = ReturnType<typeof flatten>['tasks'][number]

/** Rows with their ids given here, so that children can name their parents before anything is stored. */
function flatten({ epics: wanted }: PlanCreate) {
  const described = (d: { title: string; description?: string; priority?: Priority }) => ({
    id: newId(),
    title: d.title.trim(),
    description: d.description,
    priority: d.priority ?? ('medium' as const),
  })
  const epicRows = wanted.map((e) => ({ row: described(e), stories: e.stories ?? [] }))
  const storyRows = epicRows.flatMap(({ row, stories: list }) =>
    list.map((s) => ({ row: { ...described(s), epicId: row.id, points: s.points }, tasks: s.tasks ?? [] })),
  )
  const taskRows = storyRows.flatMap(({ row, tasks: list }) =>
    list.map((t) => ({
      ...described(t),
      storyId: row.id,
      labels: t.labels ?? [],
      estimate: t.estimate,
      acceptance: (t.acceptance ?? []).map((text) => ({ text, done: false })),
      ref: t.ref,
      blockedBy: t.blockedBy ?? [],
      at: t.title,
    })),
  )
  return { epics: epicRows.map((e) => e.row), stories: storyRows.map((s) => s.row), tasks: taskRows }
}

/** Refs must be unique and known, and the order of work must have a beginning. */
function dependenciesOf(list: FlatTask[]): { taskId: string; blockedById: string }[] {
  const byRef = new Map<string, FlatTask>()
  for (const task of list) {
    if (task.ref === undefined) continue
    if (byRef.has(task.ref)) throw invalid('/epics', `Two tasks have the ref ${JSON.stringify(task.ref)}. Give each its own.`)
    byRef.set(task.ref, task)
  }
  const pairs = list.flatMap((task) =>
    task.blockedBy.map((ref) => {
      const blocker = byRef.get(ref)
      if (!blocker) throw invalid('/epics', `"${task.at}" is blocked by ${JSON.stringify(ref)}, but no task of this plan has that ref.`)
      return { task, blocker }
    }),
  )
  const state = new Map<FlatTask, 'open' | 'done'>()
  const visit = (task: FlatTask, path: string[]): void => {
    if (state.get(task) === 'done') return
    if (state.get(task) === 'open') throw invalid('/epics', `These tasks wait for each other: ${[...path, task.at].join(' → ')}.`, 'cycle')
    state.set(task, 'open')
    for (const ref of task.blockedBy) visit(byRef.get(ref) as FlatTask, [...path, task.at])
    state.set(task, 'done')
  }
  for (const task of list) visit(task, [])
  return pairs.map(({ task, blocker }) => ({ taskId: task.id, blockedById: blocker.id }))
}

/** Also locks the project's row, so that two plans at once get numbers that do not overlap. */
async function takeNumbers(ctx: Ctx, projectId: string, many: number): Promise<number> {
  const [row] = await ctx.db
    .update(projectTable)
    .set({ lastNumber: sql`${projectTable.lastNumber} + ${many}` })
    .where(eq(projectTable.id, projectId))
    .returning({ last: projectTable.lastNumber })
  return (row?.last ?? 0) - many + 1
}

async function lastPosition(ctx: Ctx, projectId: string): Promise<number> {
  const [row] = await ctx.db
    .select({ last: sql<number | null>`max(${epics.position})` })
    .from(epics)
    .where(and(eq(epics.projectId, projectId), isNull(epics.deletedAt)))
  return Number(row?.last ?? 0)
}
