import { eq } from 'drizzle-orm'
import { write } from '../../action.ts'
import { member } from '../../auth/policy.ts'
import { newId } from '../../db/columns.ts'
import { invalid } from '../../errors.ts'
import { nameChanged } from '../../records/changed.ts'
import { circleIn, wayTo } from '../../records/cycles.ts'
import { lastPosition } from '../../records/positions.ts'
import type { Priority } from '../../records/work.ts'
import { requireOpenProject } from '../projects/refusals.ts'
import * as projects from '../projects/rows.ts'
import { epics, stories } from '../stories/table.ts'
import { addDependencies, nameDependencies } from '../tasks/dependencies.ts'
import { takeNumbers } from '../tasks/places.ts'
import { tasks } from '../tasks/table.ts'
import { planCreated } from './events.ts'
import type { PlanCreate, Tree } from './schema.ts'
import { treeOf } from './tree.ts'

/** Creates epics, stories, tasks and their dependencies, all or nothing. */
export const createPlan = write(
  'planning.createPlan',
  member('tasks:write'),
  async (ctx, { ref, ...plan }: PlanCreate & { ref: string }): Promise<Tree> => {
    const project = await projects.find(ctx, ref)
    requireOpenProject(ctx, project, 'Planning in this project')
    const flat = flatten(plan)
    checkSize(flat)
    const blockers = dependenciesOf(flat.tasks)
    if (blockers.length > 2000) throw invalid('/epics', 'A plan can have at most 2,000 dependencies.', 'too_many')
    const first = await takeNumbers(ctx, project.id, flat.tasks.length)
    const shared = {
      organizationId: project.organizationId,
      projectId: project.id,
      createdById: ctx.actor.userId,
      status: 'todo' as const,
      createdAt: ctx.now,
      updatedAt: ctx.now,
    }
    const firstEpic = (await lastPosition(ctx, epics, eq(epics.projectId, project.id))) + 1
    const firstTask = (await lastPosition(ctx, tasks, eq(tasks.projectId, project.id))) + 1
    if (flat.epics.length > 0)
      await ctx.db.insert(epics).values(flat.epics.map((e, i) => ({ ...shared, ...e, position: firstEpic + i })))
    if (flat.stories.length > 0)
      await ctx.db.insert(stories).values(flat.stories.map((s, i) => ({ ...shared, ...s, position: i + 1 })))
    if (flat.tasks.length > 0)
      await ctx.db.insert(tasks).values(
        flat.tasks.map(({ ref: _, blockedBy: __, ...t }, i) => ({
          ...shared,
          ...t,
          number: first + i,
          position: firstTask + i,
        })),
      )
    nameDependencies(ctx, shared, await addDependencies(ctx, blockers))
    for (const [kind, rows] of Object.entries({ epic: flat.epics, story: flat.stories, task: flat.tasks }))
      nameChanged(
        ctx,
        kind,
        shared,
        rows.map(({ id }) => id),
      )
    ctx.emit(planCreated, {
      subjectId: project.id,
      organizationId: project.organizationId,
      projectId: project.id,
      data: { epics: flat.epics.length, stories: flat.stories.length, tasks: flat.tasks.length },
    })
    return treeOf(
      ctx,
      project,
      flat.epics.map(({ id }) => id),
    )
  },
)

type Flat = ReturnType<typeof flatten>
type FlatTask = Flat['tasks'][number]

function checkSize({ epics, stories, tasks }: Flat): void {
  if (epics.length + stories.length + tasks.length > 500)
    throw invalid(
      '/epics',
      'A plan can have at most 500 epics, stories and tasks. Create the rest with a second plan.',
      'too_many',
    )
}

/** Returns rows whose ids are chosen here, so that children can refer to their parents before anything is stored. */
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
    })),
  )
  return { epics: epicRows.map((e) => e.row), stories: storyRows.map((s) => s.row), tasks: taskRows }
}

/** Returns the dependencies. Refs must be unique and known, and there must be no cycle. */
function dependenciesOf(list: FlatTask[]): { taskId: string; blockedById: string }[] {
  const byRef = new Map<string, FlatTask>()
  for (const task of list) {
    if (task.ref === undefined) continue
    if (byRef.has(task.ref))
      throw invalid('/epics', `Two tasks have the ref ${JSON.stringify(task.ref)}. Give each its own.`)
    byRef.set(task.ref, task)
  }
  const pairs = list.flatMap((task) =>
    task.blockedBy.map((ref) => {
      const blocker = byRef.get(ref)
      if (!blocker)
        throw invalid(
          '/epics',
          `"${task.title}" is blocked by ${JSON.stringify(ref)}, but no task of this plan has that ref.`,
        )
      return { task, blocker }
    }),
  )
  const edges = pairs.map(({ task, blocker }) => ({ from: task.id, to: blocker.id }))
  const circle = circleIn(edges)
  for (const task of circle ? list.filter(({ id }) => circle.has(id)) : []) {
    const starts = task.blockedBy.map((ref) => (byRef.get(ref) as FlatTask).id)
    const way = wayTo(task.id, starts, edges)
    if (way) throw invalid('/epics', `These tasks block each other: ${inWords(list, [task.id, ...way])}.`, 'cycle')
  }
  return pairs.map(({ task, blocker }) => ({ taskId: task.id, blockedById: blocker.id }))
}

const MOST_NAMED = 10

function inWords(list: FlatTask[], way: string[]): string {
  const titles = way.map((id) => list.find((task) => task.id === id)?.title as string)
  if (titles.length <= MOST_NAMED) return titles.join(' → ')
  return [...titles.slice(0, MOST_NAMED - 1), `… (${titles.length - MOST_NAMED} more)`, ...titles.slice(-1)].join(' → ')
}
