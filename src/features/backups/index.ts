import type { Feature } from '../../feature.ts'
import { makeCommand } from './control.ts'
import { backupJobs } from './jobs.ts'
import { make, sweepCopies } from './service.ts'

export const backups: Feature = {
  control: [makeCommand.handle(make)],
  jobs: backupJobs,
  background: (app) => {
    const swept = sweepCopies(app).catch((error: unknown) =>
      app.log.warn('files of an interrupted backup could not be removed', { error }),
    )
    return () => swept
  },
}
