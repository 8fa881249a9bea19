import { contextOf } from '../../action.ts'
import { system } from '../../auth/actor.ts'
import type { JobDefinition } from '../../jobs/definition.ts'
import type { App } from '../../services.ts'
import { divideEvents } from './event-parts.ts'
import * as upkeep from './service.ts'

export const upkeepJobs: JobDefinition<App>[] = [
  {
    name: 'upkeep.purge',
    every: '17 * * * *',
    run: async (app) => {
      const removed = await upkeep.purgeExpired(contextOf(app, system), {})
      app.log.info('old rows removed', removed)
    },
  },
  {
    name: 'upkeep.divideEvents',
    every: '47 * * * *',
    when: ({ DB_CONNECTION }) => DB_CONNECTION === 'pgsql',
    timeoutSeconds: 6 * 3600,
    resumable: true,
    run: (app) => divideEvents(contextOf(app, system), {}),
  },
]
