import { Type } from '@sinclair/typebox'
import {
  agent,
  blockedBy,
  acceptance as criteria,
  dueAt,
  expectedVersion,
  listing,
  oneOrSeveral,
  priority,
  project,
  query,
  several,
  tags,
  task,
} from '../../mcp/arguments.ts'
import { tool } from '../../mcp/tool.ts'
import { statuses } from '../../records/task-states.ts'
import { array, bool, int, listOfValues, object, oneOf, optional, text, title } from '../../schema.ts'
import { remove } from './deletion.ts'
import { claim } from './leases/leases.ts'
import { pickNextTask } from './leases/next.ts'
import { createMany } from './many/creation.ts'
import { CompleteMany } from './many/many-schema.ts'
import { Acceptance, Accepted } from './schema.ts'
import * as tasks from './service.ts'
import {
  changedTaskView,
  claimedTaskView,
  completedTasksView,
  createdTasksView,
  fullTaskView,
  nextOrWhyNone,
  taskLines,
} from './views.ts'

const assignee = optional(text(254, { description: 'me, name or e-mail' }))
const acceptance = optional(array(Type.Union([title(500), Acceptance]), 50))
/** Criteria with `done` are accepted too; `accepted` is a shorter way to tick them. */
const met = array(text(500), 50, { description: 'Criteria met: numbers, texts or all' })
const listedAs = { acceptance: criteria, accepted: met, tasks: several }
const accepted = optional(Accepted)
const session = optional(text(100, { minLength: 1, description: 'Yours, if windows share a token' }))
const minutes = optional(int({ min: 1, max: 480 }))

const described = {
  description: optional(text(50_000)),
  assignee,
  priority,
  tags,
  dueAt,
  blockedBy,
  acceptance,
  discoveredFrom: optional(text(100)),
}

/** Returns the list, or a list with the single value. */
function oneOrMore<T, L>(name: string, one: T | undefined, list: readonly L[] | undefined): (T | L)[] {
  if (one !== undefined && list === undefined) return [one]
  if (one === undefined && list !== undefined) return [...list]
  throw oneOrSeveral(name, 'tasks')
}

export const taskTools = [
  tool({
    name: 'create_task',
    title: 'Create task',
    description: 'Add tasks; blockedBy may name titles of new ones. For epics and stories use create_plan.',
    toolset: 'tasks',
    input: object({
      title: optional(title(200)),
      tasks: optional(Type.Array(object({ ...described, title: title(200) }), { minItems: 1, maxItems: 50 })),
      parent: optional(text(100, { description: 'Task to split' })),
      project: optional(project),
      ...described,
      story: optional(text(36, { description: 'Id, or a task in it' })),
    }),
    listedAs,
    action: createMany,
    with: ({ project, parent, story, title, tasks, ...shared }) => {
      const list = oneOrMore('title', title === undefined ? undefined : { title }, tasks)
      const created = list.map((one) => {
        const { tags, ...task } = { ...shared, ...one }
        return { ...task, storyId: story, labels: tags }
      })
      return { projectRef: project, parent, tasks: created }
    },
    show: createdTasksView,
  }),
  tool({
    name: 'list_tasks',
    title: 'List tasks',
    description: 'List tasks without descriptions. ready: can be started.',
    toolset: 'tasks',
    input: object({
      query,
      status: optional(listOfValues(statuses)),
      assignee: optional(text(1000, { description: assignee.description })),
      project: optional(project),
      tags,
      ready: optional(bool()),
      ...listing,
    }),
    listedAs: { status: text(200, { description: `${statuses.join(', ')}; several with commas` }) },
    action: tasks.list,
    narrowed: true,
    with: ({ project, query, tags, ...input }) => ({
      limit: 20,
      ...input,
      projectId: project,
      search: query,
      labels: tags,
      mustExist: true,
      total: true,
    }),
    show: taskLines,
    whole: async (ctx, { id }) => fullTaskView(await tasks.getDetail(ctx, { ref: id }), undefined, ctx),
  }),
  tool({
    name: 'update_task',
    title: 'Update task',
    description: 'Change fields (asks: a question). Returns tasks unblocked or blocked. To finish: complete_task.',
    toolset: 'tasks',
    input: object({
      task,
      status: optional(oneOf(statuses)),
      assignee,
      priority,
      title: optional(title(200)),
      description: optional(text(50_000)),
      tags,
      dueAt,
      blockedBy,
      acceptance,
      accepted,
      comment: optional(title(20_000)),
      asks: optional(bool()),
      evidence: optional(array(text(500), 20)),
      expectedVersion: optional(expectedVersion),
    }),
    listedAs,
    action: tasks.update,
    with: ({ task, tags, expectedVersion: _, ...patch }) => ({ ref: task, ...patch, ...(tags && { labels: tags }) }),
    show: (task) => changedTaskView(task),
  }),
  tool({
    name: 'complete_task',
    title: 'Complete task',
    description:
      'Finish tasks; open criteria must be accepted. Returns unblocked tasks and the next one (claimNext claims it).',
    toolset: 'tasks',
    input: object({
      task: optional(task),
      tasks: optional(CompleteMany.properties.tasks),
      notes: optional(text(20_000)),
      evidence: optional(array(text(500), 20)),
      accepted,
      claimNext: optional(bool()),
      session,
    }),
    listedAs,
    action: tasks.completeMany,
    with: ({ task, tasks, session, ...rest }) => ({
      tasks: oneOrMore('task', task, tasks),
      sessionId: session,
      ...rest,
    }),
    show: completedTasksView,
  }),
  tool({
    name: 'delete_task',
    title: 'Delete task',
    description: 'Delete a task created by mistake. To drop one, set status cancelled.',
    toolset: 'tasks',
    input: object({ task, reason: optional(text(1000)) }),
    action: remove,
    with: ({ task, reason }) => ({ ref: task, reason }),
  }),
  tool({
    name: 'get_task',
    title: 'Get task',
    description: 'Get a task in full, with dependencies, who works on it, comments, linked records.',
    toolset: 'tasks',
    input: object({ task }),
    action: tasks.getDetail,
    with: ({ task }) => ({ ref: task }),
    show: fullTaskView,
  }),
  tool({
    name: 'next_task',
    title: 'Next task',
    description: 'Get the next task and why, claimed for you (claim: false only looks).',
    toolset: 'tasks',
    input: object({ project: optional(project), claim: optional(bool()), agent: optional(agent), session, minutes }),
    action: pickNextTask,
    with: ({ project, session, ...rest }) => ({ ...rest, projectRef: project, sessionId: session }),
    show: nextOrWhyNone,
  }),
  tool({
    name: 'claim_task',
    title: 'Claim task',
    description: 'Claim a task so that no one else works on it. Your calls renew it; release ends it.',
    toolset: 'tasks',
    input: object({
      task,
      action: optional(oneOf(['claim', 'renew', 'release'], { default: 'claim' })),
      minutes,
      agent: optional(agent),
      session,
      note: optional(title(20_000, { description: 'For the next worker' })),
    }),
    action: claim,
    with: ({ task, session, ...rest }) => ({ ref: task, sessionId: session, ...rest }),
    show: (task, { action = 'claim' }, ctx) =>
      action === 'claim' ? claimedTaskView(task, ctx) : changedTaskView(task),
  }),
]
