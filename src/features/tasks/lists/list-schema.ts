import { Type } from '@sinclair/typebox'
import { priorities, type Status, statuses } from '../../../records/task-states.ts'
import {
  bool,
  id,
  int,
  listOfValues,
  nullable,
  object,
  oneOf,
  openFilter,
  optional,
  pageOf,
  paging,
  pastTime,
  type Static,
  text,
  time,
} from '../../../schema.ts'
import { projectFilter } from '../../projects/schema.ts'
import { TaskItem } from '../schema.ts'

/** Lists of tasks: filters, orders and responses. */

/** What a list can be grouped by. */
const groupings = ['status', 'priority', 'assignee', 'holder', 'label', 'epic', 'project', 'none'] as const
export type Grouping = (typeof groupings)[number]

const several = 'several with commas between, all or none of them after a `!` (is not)'
export const taskFilters = {
  status: optional(
    listOfValues(statuses, {
      description: `${several}; blocked: also those that wait for other tasks`,
      example: 'todo',
      negatable: true,
    }),
  ),
  open: openFilter,
  priority: optional(listOfValues(priorities, { description: several, example: 'high', negatable: true })),
  projectId: projectFilter,
  epicId: optional(
    text(1000, {
      minLength: 1,
      description: `Ids of epics; ${several}`,
      example: '019a8a7e-5c1f-7d3a-9b52-0c7f6f1f2a10',
    }),
  ),
  storyId: optional(id()),
  parentId: optional(id({ description: 'Only the parts of this task' })),
  assignee: optional(
    text(1000, {
      minLength: 1,
      description: `me, a user (id or e-mail) or an agent (id or slug), none: unassigned; ${several}`,
      example: 'me',
    }),
  ),
  holder: optional(
    text(1000, { minLength: 1, description: `Who works on it now, as for assignee; ${several}`, example: 'me' }),
  ),
  leased: optional(bool({ description: 'true: only claimed tasks; false: only unclaimed tasks' })),
  label: optional(text(1000, { description: `Only tasks with one of these labels; ${several}` })),
  dueBefore: optional(time()),
  dueAfter: optional(time({ description: 'At this time or later' })),
  updatedAfter: optional(pastTime({ description: 'A date or time, or how long ago: -12h, -7d, -2w' })),
  ready: optional(
    bool({
      description:
        'Only tasks that can be started now: todo or abandoned, not blocked, not claimed. Default order: most urgent first',
    }),
  ),
  search: optional(text(200)),
}

const extras = ['flags', 'parts', 'frees'] as const
export const TaskListQuery = object({
  ...paging('updatedAt', 'createdAt', 'position', 'number', 'priority', 'dueAt', 'completedAt'),
  ...taskFilters,
})
export const TaskQuery = object({
  ...TaskListQuery.properties,
  with: optional(
    listOfValues(extras, {
      description:
        'What to add to each task: flags (what it needs, for you), parts (done of total), frees (freesCount)',
      example: 'flags',
    }),
  ),
  doneAfter: optional(time({ description: 'With group=status: only tasks that were done at this time or later' })),
  group: optional(
    oneOf(groupings, {
      description:
        'Return the first tasks of every group, with totals. status: with `status` only those in just these states. label: a task is in the group of each of its labels. Default order: position, ascending',
    }),
  ),
  in: optional(
    text(200, { description: 'With `group`: only the group with this value; empty: the one without a value' }),
  ),
  folded: optional(
    listOfValues(statuses, { description: 'With group=status: states of which only totals are returned' }),
  ),
  countReady: optional(bool({ description: 'With `group`: also count the tasks that can be started now' })),
})
export type TaskQuery = Static<typeof TaskQuery>
export const TaskPage = pageOf(TaskItem)
export type TaskPage = Static<typeof TaskPage>

const TaskGroup = object({
  value: nullable(text(200, { description: 'The state, label or id; null: tasks without one', example: 'todo' })),
  name: optional(
    text(500, { description: 'The name of an epic, a project, a person or an agent', example: 'Lantern' }),
  ),
  total: int({ example: 9 }),
  older: optional(int({ description: 'How many more were done before `doneAfter`', example: 33 })),
  ready: optional(int({ description: 'With countReady: how many can be started now', example: 2 })),
  items: Type.Array(TaskItem),
  nextCursor: nullable(text(400, { description: 'For the next page of this group: send it with `in`' })),
})
export type TaskGroup = Static<typeof TaskGroup>
export const TaskGroups = object({
  groups: Type.Array(TaskGroup, {
    description: 'At most 200; tasks of the first 20. States and priorities in their order, others by their total',
  }),
  total: optional(int({ description: 'With total: all tasks that match, each once', example: 31 })),
})
export type GroupedTasks = Static<typeof TaskGroups>
/** The columns of a board: `GET /api/tasks?group=status`. */
export interface TaskGroups {
  groups: (TaskGroup & { value: Status })[]
}

const countsBy = ['status', 'priority', 'assignee', 'holder', 'label', 'story', 'epic'] as const
export const TaskCountsQuery = object({ by: oneOf(countsBy, { example: 'status' }), ...taskFilters })
export type TaskCountsQuery = Static<typeof TaskCountsQuery>
export const TaskCounts = object({
  total: int({ example: 31 }),
  counts: Type.Array(
    object({
      value: nullable(text(200, { description: 'The state, label or id; null: tasks without one', example: 'todo' })),
      name: optional(text(500, { description: 'The title of a story or an epic', example: 'A book on a plane' })),
      n: int({ example: 7 }),
    }),
    { description: 'The 200 most frequent' },
  ),
})
export type TaskCounts = Static<typeof TaskCounts>
