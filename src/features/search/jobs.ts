import { contextOf } from '../../action.ts'
import { system } from '../../auth/actor.ts'
import type { JobDefinition } from '../../jobs/queue.ts'
import { embedMissing } from './embed.ts'

export const searchJobs: JobDefinition[] = [
  {
    name: 'search.embed',
    timeoutSeconds: 3600,
    run: async (app, _data, signal) => {
      const made = await embedMissing(contextOf(app, system), { signal })
      if (made > 0) app.log.debug('passages embedded', { made })
    },
  },
  {
    // A model that was changed while the server was down, or a server that was unreachable for too long.
    name: 'search.catchUp',
    every: '*/5 * * * *',
    timeoutSeconds: 3600,
    run: async (app, _data, signal) => {
      await embedMissing(contextOf(app, system), { signal })
    },
  },
]
