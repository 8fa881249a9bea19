import { contextOf } from '../../action.ts'
import { system } from '../../auth/actor.ts'
import type { JobDefinition } from '../../jobs/queue.ts'
import * as backups from './service.ts'

export const backupJobs: JobDefinition[] = [
  {
    name: 'backups.keepUp',
    every: '7 * * * *',
    timeoutSeconds: 3600,
    run: async (app) => {
      const saved = await backups.keepUp(contextOf(app, system), {})
      if (saved) app.log.info('backup made', { ...saved })
    },
  },
]
