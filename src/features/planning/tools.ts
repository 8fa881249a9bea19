import { Type } from '@sinclair/typebox'
import { invalid } from '../../errors.ts'
import { acceptance, blockedBy, priority, project, tags } from '../../mcp/arguments.ts'
import { tool } from '../../mcp/tool.ts'
import { array, jsonObject, object, optional, type Static, text } from '../../schema.ts'
import { quoteText } from '../../text/quoting.ts'
import { findRefusedPlan, keepRefusedPlan } from './refused-plans.ts'
import { type PlanCreate, PlanEpic, PlanStory, PlanTask, type Tree, type TreeTask } from './schema.ts'
import * as planning from './service.ts'

/** The plan as an argument of the tool, with the argument names of other tools. */
const { labels: _, ...fields } = PlanTask.properties
const Task = object({ ...fields, ref: optional(text(40, { minLength: 1 })), priority, tags, acceptance, blockedBy })
const { description } = PlanStory.properties
const title = text(200)
const Story = object({ ...PlanStory.properties, priority, tasks: optional(array(Task, 200)) })
const Epic = object({
  ...PlanEpic.properties,
  priority,
  stories: optional(array(Story, 100)),
  tasks: optional(array(Task, 200)),
})
/** The listed schema shows the fields of tasks once, and only the usual fields of epics and stories. */
const { estimate: __, ...usual } = Task.properties
const listedAs = {
  epics: array(
    object({
      title,
      description,
      stories: optional(array(object({ title, description, tasks: optional(array(object(usual), 200)) }), 100)),
      tasks: optional(array(Type.Unsafe<object>({ type: 'object' }), 200)),
    }),
    50,
  ),
}

const withLabels = ({ tags, ...task }: Static<typeof Task>) => ({ ...task, labels: tags })
const epicsOf = (epics: Static<typeof Epic>[]): PlanCreate['epics'] =>
  epics.map((epic) => ({
    ...epic,
    tasks: epic.tasks?.map(withLabels),
    stories: epic.stories?.map((story) => ({ ...story, tasks: story.tasks?.map(withLabels) })),
  }))

/**
 * The keys of the tasks, which are numbered in the order of the plan: a range for each story, and the tasks that can be
 * started now.
 */
const planKeys = ({ epics }: Tree) => {
  const stories = epics.flatMap((epic) => epic.stories)
  const tasks = stories.flatMap((story) => story.tasks)
  return {
    tasks: range(tasks),
    stories:
      stories.length > 1 ? stories.map(({ title, tasks }) => `${range(tasks) ?? 'none'} ${quoteText(title)}`) : [],
    ready: tasks
      .filter(({ blockedBy }) => blockedBy.length === 0)
      .slice(0, READY)
      .map(({ key }) => key),
  }
}

/** Ready tasks in the result; next_task finds the others. */
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
      'Create epics, stories and tasks, all or none. blockedBy: refs, titles or keys. fix corrects a refused plan.',
    toolset: 'projects',
    input: object({
      project: optional(project),
      epics: optional(array(Epic, 50)),
      plan: optional(text(20, { minLength: 1 })),
      fix: optional(jsonObject()),
    }),
    listedAs,
    correction: { id: 'plan', changes: 'fix', keep: keepRefusedPlan, find: findRefusedPlan },
    action: planning.createPlan,
    with: ({ project, epics }) => {
      if (!epics)
        throw invalid('/epics', 'Send epics for a new plan, or plan and fix to correct a refused one.', 'required')
      return { ref: project, epics: epicsOf(epics) }
    },
    show: planKeys,
  }),
]
