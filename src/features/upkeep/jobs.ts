import { contextOf } from '../../action.ts'
import { system } from '../../auth/actor.ts'
import type { JobDefinition } from '../../jobs/queue.ts'
import * as upkeep from './service.ts'

export const upkeepJobs: JobDefinition[] = [
  {
    name: 'upkeep.purge',
    every: '17 * * * *',
    run: async (app) => {
      const removed = await upkeep.purge(contextOf(app, system), {})
      app.log.info('old rows removed', removed)
    },
  },
]
