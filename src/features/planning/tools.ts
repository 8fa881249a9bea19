import { tool } from '../../mcp/tool.ts'
import { object, text } from '../../schema.ts'
import { quoted } from '../../text/quoted.ts'
import { PlanCreate, type Tree, type TreeTask } from './schema.ts'
import * as planning from './service.ts'

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
    input: object({
      project: text(100, { minLength: 1, description: 'Id, slug, key or id prefix' }),
      ...PlanCreate.properties,
    }),
    action: planning.createPlan,
    with: ({ project, ...plan }) => ({ ref: project, ...plan }),
    show: keys,
  }),
]
