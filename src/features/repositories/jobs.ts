import { contextOf } from '../../action.ts'
import { system } from '../../auth/actor.ts'
import type { JobDefinition } from '../../jobs/queue.ts'
import { observe } from './observe.ts'

export const repositoryJobs: JobDefinition[] = [
  {
    name: 'repos.observe',
    // For a quarter of an hour: what a host does not tell by then stays what it was, reported.
    retries: 7,
    timeoutSeconds: 60,
    run: async (app, data, signal) => {
      await observe(contextOf(app, system, { signal }), data as { evidenceId: string })
    },
  },
]
