import type { Feature } from '../../feature.ts'
import { backupJobs } from './jobs.ts'
import { make, sweepCopies } from './service.ts'

export const backups: Feature = {
  control: [make],
  jobs: backupJobs,
  background: (app) => {
    const swept = sweepCopies(app).catch((error: unknown) =>
      app.log.warn('what an interrupted backup left could not be removed', { error }),
    )
    return () => swept
  },
}
