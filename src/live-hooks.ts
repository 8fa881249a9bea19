import type { Actor } from './auth/actor.ts'
import { hook } from './hooks.ts'
import type { WorkingAgent } from './live/hub-app.ts'

/** What the hub (`live/`) needs to know from features. `app.ts` calls these hooks for it. */

/** Returns the agents that work on tasks of these organizations now. */
export const workersOf = hook<{ organizationIds: readonly string[] }, WorkingAgent[]>('live.workersOf')

/** Returns the ids that are not records but whose topic `record:<id>` the actor may subscribe to. */
export const watchable = hook<{ actor: Actor; ids: readonly string[] }, string[]>('live.watchable')
