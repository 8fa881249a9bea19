import { hook } from '../../hooks.ts'
import type { Task, TaskDetail } from './schema.ts'

/** Returns the parts of a task's detail that upper features provide, as far as the caller may see them. */
export const taskParts = hook<{ task: Task }, Partial<Pick<TaskDetail, 'features'>>>('tasks.parts')
