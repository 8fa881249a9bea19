import type { SQL } from 'drizzle-orm'
import { hook } from '../../hooks.ts'
import type { Status } from '../../records/task-states.ts'
import type { TaskCheckpoint } from './leases/checkpoint-schema.ts'
import type { TaskFlag } from './lists/extras-schema.ts'
import type { Task, TaskDetail, TaskItem } from './schema.ts'

/** Returns the parts of a task's detail that upper features provide, as far as the caller may see them. */
export const taskParts = hook<{ task: Task }, Partial<Pick<TaskDetail, 'features'>>>('tasks.parts')

/**
 * Returns a query for the ids of those of these open tasks that have a flag which an upper feature knows and whose
 * reason the caller may see; undefined if there are none. The queries of all features are sent as one statement.
 */
export const flaggedTasks = hook<{ tasks: readonly TaskItem[] }, { flag: TaskFlag; ids: SQL } | undefined>(
  'tasks.flagged',
)

/** Attaches files that the caller uploaded before the task existed. */
export const filesNamed = hook<{ task: Task; files: readonly string[] }>('tasks.filesNamed')

/** A task before and after a call changed or completed it. */
export interface TaskChange {
  before: Task
  after: Task
  /** The ids of the blockers that the caller sees, if the call changed them. */
  blockers?: { before: readonly string[]; after: readonly string[] }
  /** The checkpoint before the change. Completing a task clears it. */
  lastCheckpoint: TaskCheckpoint | null
  /** Tasks that the change unblocked, with their state before. */
  freed: readonly { id: string; from: Status }[]
}

/** Called in the transaction of a change. */
export const taskChanged = hook<TaskChange>('tasks.changed')
