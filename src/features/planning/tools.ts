import { acceptance, blockedBy, priority, project, tags } from '../../mcp/arguments.ts'
import { tool } from '../../mcp/tool.ts'
import { array, object, optional, type Static, text } from '../../schema.ts'
import { quoted } from '../../text/quoted.ts'
import { type PlanCreate, PlanEpic, PlanStory, PlanTask, type Tree, type TreeTask } from './schema.ts'
import * as planning from './service.ts'

/** A plan as tools take it: with the names and descriptions that arguments have in every tool. */
const { labels: _, ...fields } = PlanTask.properties
const Task = object({ ...fields, priority, tags, acceptance, blockedBy })
const Story = object({ ...PlanStory.properties, priority, tasks: optional(array(Task, 200)) })
const Epic = object({ ...PlanEpic.properties, priority, stories: optional(array(Story, 100)) })

/** Lists of tools name the values of a priority once. */
const plain = optional(text(40))
const listedEpics = array(
  object({
    ...Epic.properties,
    priority: plain,
    stories: optional(
      array(
        object({
          ...Story.properties,
          priority: plain,
          tasks: optional(array(object({ ...Task.properties, ref: plain }), 200)),
        }),
        100,
      ),
    ),
  }),
  50,
)

const labelled = ({ tags, ...task }: Static<typeof Task>) => ({ ...task, labels: tags })
const epicsOf = (epics: Static<typeof Epic>[]): PlanCreate['epics'] =>
  epics.map((epic) => ({
    ...epic,
    stories: epic.stories?.map((story) => ({ ...story, tasks: story.tasks?.map(labelled) })),
  }))

/**
 * The keys of the tasks, which are numbered in the order of the plan: a range for each story, and the tasks that can be
 * started now.
 */
const keys = ({ epics }: Tree) => {
  const stories = epics.flatMap((epic) => epic.stories)
  const tasks = stories.flatMap((story) => story.tasks)
  return {
    tasks: range(tasks),
    stories: stories.length > 1 ? stories.map(({ title, tasks }) => `${range(tasks) ?? 'none'} ${quoted(title)}`) : [],
    ready: tasks
      .filter(({ blockedBy }) => blockedBy.length === 0)
      .slice(0, READY)
      .map(({ key }) => key),
  }
}

/** How many tasks are named as ready; next_task finds the others. */
const READY = 10

const range = (tasks: readonly TreeTask[]): string | undefined => {
  const [first, last] = [tasks[0]?.key, tasks.at(-1)?.key]
  return first === last ? first : `${first} to ${last}`
}

export const planningTools = [
  tool({
    name: 'create_plan',
    title: 'Create plan',
    description:
      'Create a whole plan, all or nothing: epics with stories with tasks. blockedBy names refs of tasks in the plan.',
    toolset: 'projects',
    input: object({ project, epics: array(Epic, 50) }),
    listedAs: { epics: listedEpics },
    action: planning.createPlan,
    with: ({ project, epics }) => ({ ref: project, epics: epicsOf(epics) }),
    show: keys,
  }),
]
