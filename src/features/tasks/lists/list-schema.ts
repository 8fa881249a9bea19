import { Type } from '@sinclair/typebox'
import { priorities, statuses } from '../../../records/task-states.ts'
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
  type Static,
  text,
  time,
} from '../../../schema.ts'
import { projectFilter } from '../../projects/schema.ts'
import { TaskItem } from '../schema.ts'

/** Lists of tasks: filters, orders and responses. */

const several = 'several with commas between'
export const taskFilters = {
  status: optional(
    listOfValues(statuses, {
      description: `${several}; blocked: also those that wait for other tasks`,
      example: 'todo',
    }),
  ),
  open: openFilter,
  priority: optional(listOfValues(priorities, { description: several, example: 'high' })),
  projectId: projectFilter,
  epicId: optional(id()),
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
  ready: optional(
    bool({
      description:
        'Only tasks that can be started now: todo or abandoned, not blocked, not claimed. Default order: most urgent first',
    }),
  ),
  search: optional(text(200)),
}

export const TaskQuery = object({
  ...paging('updatedAt', 'createdAt', 'position', 'number', 'priority', 'dueAt'),
  ...taskFilters,
  group: optional(
    oneOf(['status'], {
      description:
        'Return the first tasks of every state, with totals; with `status` only those in just these states. Default order: position, ascending',
    }),
  ),
})
export type TaskQuery = Static<typeof TaskQuery>
export const TaskPage = pageOf(TaskItem)
export type TaskPage = Static<typeof TaskPage>

/** A board: the columns of `GET /api/tasks?group=status`. */
export const TaskGroups = object({
  groups: Type.Array(
    object({
      value: oneOf(statuses),
      total: int({ example: 9 }),
      items: Type.Array(TaskItem),
      nextCursor: nullable(text(400, { description: 'For the next page of this group: send it with its `status`' })),
    }),
  ),
})
export type TaskGroups = Static<typeof TaskGroups>

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
