import { contextOf } from '../../action.ts'
import { system } from '../../auth/actor.ts'
import type { JobDefinition } from '../../jobs/queue.ts'
import { embedMissing } from './embed.ts'
import { compare, PACE } from './indexing.ts'

const HOURS = 6 * 3600

export const searchJobs: JobDefinition[] = [
  {
    name: 'search.compare',
    timeoutSeconds: HOURS,
    resumable: true,
    run: (app, { projectId }, signal) =>
      compare(contextOf(app, system), { projectId: projectId as string | undefined, signal, pace: PACE }),
  },
  {
    // A safety net: normally nothing differs, and what does is corrected within a day.
    name: 'search.compareAll',
    every: '41 3 * * *',
    timeoutSeconds: HOURS,
    resumable: true,
    run: (app, _data, signal) => compare(contextOf(app, system), { signal, pace: PACE }),
  },
  {
    name: 'search.embed',
    timeoutSeconds: HOURS,
    resumable: true,
    run: async (app, _data, signal) => {
      const made = await embedMissing(contextOf(app, system), { signal })
      if (made > 0) app.log.debug('passages embedded', { made })
    },
  },
  {
    // Covers a model that was changed while the server was down, and an embedding server that was unreachable for long.
    name: 'search.embedAll',
    every: '*/5 * * * *',
    timeoutSeconds: HOURS,
    resumable: true,
    run: async (app, _data, signal) => {
      await embedMissing(contextOf(app, system), { signal })
    },
  },
]
