import { contextOf } from '../../action.ts'
import { system } from '../../auth/actor.ts'
import type { Config } from '../../config.ts'
import type { JobDefinition } from '../../jobs/definition.ts'
import type { App } from '../../services.ts'
import { askForVectors, embedMissing } from './indexing/embed.ts'
import { compareAllRecords } from './indexing/indexing.ts'
import { PACE } from './indexing/pacing.ts'
import { checkIndexes, indexLargeOwners, markLargeOwners } from './large-owners.ts'

const HOURS = 6 * 3600
/** The embedded database has no vector indexes: they need memory and time that a small server does not have. */
const hasIndexes = ({ DB_CONNECTION, EMBEDDINGS }: Config): boolean => DB_CONNECTION === 'pgsql' && EMBEDDINGS === 'on'
const indexJob = { when: hasIndexes, timeoutSeconds: HOURS, resumable: true } as const

export const searchJobs: JobDefinition<App>[] = [
  {
    name: 'search.compare',
    timeoutSeconds: HOURS,
    resumable: true,
    run: (app, { projectId }, signal) =>
      compareAllRecords(contextOf(app, system), { projectId: projectId as string | undefined, signal, pace: PACE }),
  },
  {
    // A safety net: normally nothing differs, and a difference is corrected within a day.
    name: 'search.compareAll',
    every: '41 3 * * *',
    timeoutSeconds: HOURS,
    resumable: true,
    run: (app, _data, signal) => compareAllRecords(contextOf(app, system), { signal, pace: PACE }),
  },
  {
    name: 'search.embed',
    timeoutSeconds: HOURS,
    resumable: true,
    alone: true,
    run: async (app, _data, signal) => {
      const made = await embedMissing(contextOf(app, system), { signal })
      if (made > 0) app.log.debug('passages embedded', { made })
    },
  },
  {
    // Covers a model that was changed while the server was down, and an embedding server that was unreachable for long.
    name: 'search.embedAll',
    every: '*/5 * * * *',
    run: (app) => askForVectors(contextOf(app, system), {}),
  },
  {
    name: 'search.indexLarge',
    every: '29 4 * * *',
    ...indexJob,
    run: (app, _data, signal) => indexLargeOwners(contextOf(app, system), { signal, pace: PACE }),
  },
  {
    name: 'search.markLarge',
    every: '*/10 * * * *',
    ...indexJob,
    run: (app, _data, signal) => markLargeOwners(contextOf(app, system), { signal, pace: PACE }),
  },
  {
    name: 'search.checkIndexes',
    every: '53 5 * * 0',
    ...indexJob,
    run: (app, _data, signal) => checkIndexes(contextOf(app, system), { signal, pace: PACE }),
  },
]
