import { Type } from '@sinclair/typebox'
import { bool, id, object, oneOf, optional, type Static } from '../../../schema.ts'
import { taskFilters } from '../lists/list-schema.ts'
import { kinds, TaskItem } from '../schema.ts'

const { key, title, status, priority, assignee, estimate, dueAt } = TaskItem.properties

/** Tasks and the connections between them. */
export const TaskGraph = object({
  nodes: Type.Array(
    object({
      id: id(),
      projectId: id(),
      key,
      title,
      status,
      priority,
      assignee,
      estimate,
      dueAt,
      matches: optional(
        bool({ description: 'With filters only. false: it is here because a task that matches is connected to it' }),
      ),
    }),
    { description: 'Tasks with connections: of this project, or connected to one of its tasks' },
  ),
  edges: Type.Array(
    object({
      from: id({ description: 'blocks: the task that must be closed first' }),
      to: id(),
      kind: oneOf(kinds),
    }),
  ),
  complete: bool({ description: 'false: only the newest are included' }),
})
export type TaskGraph = Static<typeof TaskGraph>

const { projectId: _, ...filters } = taskFilters

export const GraphQuery = object({
  ...filters,
  kind: optional(oneOf(kinds, { description: 'Only connections of this kind' })),
})
export type GraphQuery = Static<typeof GraphQuery>
