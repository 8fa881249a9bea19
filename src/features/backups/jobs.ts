import { contextOf } from '../../action.ts'
import { system } from '../../auth/actor.ts'
import type { JobDefinition } from '../../jobs/definition.ts'
import type { App } from '../../services.ts'
import * as backups from './service.ts'

export const backupJobs: JobDefinition<App>[] = [
  {
    name: 'backups.keepUp',
    every: '7 * * * *',
    // With several instances, one that has a backup folder runs it.
    when: ({ BACKUP_DIR }) => BACKUP_DIR !== undefined,
    timeoutSeconds: 4 * 3600,
    run: async (app, _, signal) => {
      const saved = await backups.makeScheduledBackup({ ...contextOf(app, system), signal }, {})
      if (saved) app.log.info('backup made', { ...saved })
    },
  },
]
