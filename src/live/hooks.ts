import type { Actor } from '../auth/actor.ts'
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

/** Returns those of the ids whose topic `record:<id>` the actor may watch although they are no records. */
export const watchable = hook<{ actor: Actor; ids: readonly string[] }, string[]>('live.watchable')
