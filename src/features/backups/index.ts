import type { Feature } from '../../feature.ts'
import { backupCommand } from './control.ts'
import { backupJobs } from './jobs.ts'
import { createBackup, removeLeftovers } from './service.ts'

export const backups: Feature = {
  control: [backupCommand.handle(createBackup)],
  jobs: backupJobs,
  background: (app) => {
    const swept = removeLeftovers(app).catch((error: unknown) =>
      app.log.warn('files of an interrupted backup could not be removed', { error }),
    )
    return () => swept
  },
}
