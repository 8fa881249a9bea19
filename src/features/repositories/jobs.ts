import { contextOf } from '../../action.ts'
import { system } from '../../auth/actor.ts'
import type { JobDefinition } from '../../jobs/definition.ts'
import type { App } from '../../services.ts'
import { observe } from './observe.ts'

export const repositoryJobs: JobDefinition<App>[] = [
  {
    name: 'repos.observe',
    // For about 15 minutes; evidence that could not be checked by then stays "reported".
    retries: 7,
    timeoutSeconds: 60,
    run: async (app, data, signal) => {
      await observe(contextOf(app, system, { signal }), data as { evidenceId: string })
    },
  },
]
