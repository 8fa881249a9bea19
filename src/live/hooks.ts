import { hook } from '../hooks.ts'

/** An agent that holds the lease of a task. */
export interface Worker {
  id: string
  name: string
  since: string
  organizationId: string
  projectId: string
  taskId: string
  /** The task's key: `TUT-42`. */
  key: string
}

/** Returns the agents that work on tasks of these organizations now. */
export const workersOf = hook<{ organizationIds: readonly string[] }, Worker[]>('live.workersOf')
