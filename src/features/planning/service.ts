import { eq } from 'drizzle-orm'
import { write } from '../../action.ts'
import { member } from '../../auth/policy.ts'
import { anyOf, idList, newId } from '../../db/columns.ts'
import { invalid } from '../../errors.ts'
import { lastPosition } from '../../records/positions.ts'
import { emitChanged } from '../../records/synced-changes.ts'
import type { Priority } from '../../records/task-states.ts'
import { epics, stories } from '../stories/table.ts'
import { addDependencies, nameDependencies } from '../tasks/dependencies/dependencies.ts'
import { lockNeighbours } from '../tasks/dependencies/neighbours.ts'
import { findPlanningProject, takeNumbers } from '../tasks/places.ts'
import { tasks } from '../tasks/table.ts'
import { planCreated } from './events.ts'
import { resolveDependencies } from './plan-dependencies.ts'
import type { PlanCreate, Tree } from './schema.ts'
import { buildTree } from './tree.ts'

/** Creates epics, stories, tasks and their dependencies, all or nothing. */
export const createPlan = write(
  'planning.createPlan',
  member('tasks:write'),
  async (ctx, { ref, ...plan }: PlanCreate & { ref?: string }): Promise<Tree> => {
    const project = await findPlanningProject(ctx, ref)
    const flat = flatten(plan)
    checkSize(flat)
    // Numbers first: they lock the project, which must be locked before the team.
    const first = await takeNumbers(ctx, project.id, flat.tasks.length)
    const { dependencies, existing } = await resolveDependencies(ctx, project, flat.tasks)
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
        flat.tasks.map(({ ref: _, blockedBy: __, at: ___, ...t }, i) => ({
          ...shared,
          ...t,
          number: first + i,
          position: firstTask + i,
        })),
      )
    if (existing.length > 0)
      await lockNeighbours(ctx, anyOf(tasks.id, idList(flat.tasks.map(({ id }) => id))), existing)
    nameDependencies(ctx, shared, await addDependencies(ctx, dependencies))
    for (const [kind, rows] of Object.entries({ epic: flat.epics, story: flat.stories, task: flat.tasks }))
      emitChanged(
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
    return buildTree(
      ctx,
      project,
      flat.epics.map(({ id }) => id),
    )
  },
)

type Flat = ReturnType<typeof flatten>

function checkSize({ epics, stories, tasks }: Flat): void {
  if (epics.length + stories.length + tasks.length > 500)
    throw invalid(
      '/epics',
      'A plan can have at most 500 epics, stories and tasks. Create the rest with a second plan.',
      'too_many',
    )
}

/** Returns rows with new ids, so that children can refer to their parents before anything is stored. */
function flatten({ epics: wanted }: PlanCreate) {
  const described = (d: { title: string; description?: string; priority?: Priority }) => ({
    id: newId(),
    title: d.title.trim(),
    description: d.description,
    priority: d.priority ?? ('medium' as const),
  })
  const epicRows = wanted.map((e, i) => ({ row: described(e), stories: storiesOf(e, `/epics/${i}`) }))
  const storyRows = epicRows.flatMap(({ row, stories: list }) =>
    list.map(({ story, at }) => ({
      row: { ...described(story), epicId: row.id, points: story.points },
      tasks: story.tasks ?? [],
      at,
    })),
  )
  const taskRows = storyRows.flatMap(({ row, tasks: list, at }) =>
    list.map((t, i) => ({
      ...described(t),
      storyId: row.id,
      labels: t.labels ?? [],
      estimate: t.estimate,
      acceptance: (t.acceptance ?? []).map((text) => ({ text, done: false })),
      ref: t.ref,
      blockedBy: t.blockedBy ?? [],
      at: `${at}/tasks/${i}`,
    })),
  )
  return { epics: epicRows.map((e) => e.row), stories: storyRows.map((s) => s.row), tasks: taskRows }
}

/** Returns the stories of an epic and where they are in the plan. The epic's own tasks get a story with its title. */
function storiesOf(epic: PlanCreate['epics'][number], at: string): { story: Story; at: string }[] {
  const { title, priority, tasks: own = [], stories = [] } = epic
  return [
    ...(own.length > 0 ? [{ story: { title, priority, tasks: own }, at }] : []),
    ...stories.map((story, i) => ({ story, at: `${at}/stories/${i}` })),
  ]
}
type Story = NonNullable<PlanCreate['epics'][number]['stories']>[number]
