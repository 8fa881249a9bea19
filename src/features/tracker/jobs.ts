import { contextOf } from '../../action.ts'
import { system } from '../../auth/actor.ts'
import type { JobDefinition } from '../../jobs/definition.ts'
import type { App } from '../../services.ts'
import { secretOf } from '../settings/service.ts'
import { settingsOf } from '../settings/values.ts'
import { syncIssues } from './service.ts'

export const trackerJobs: JobDefinition<App>[] = [
  {
    name: 'tracker.hourly',
    every: '41 * * * *',
    run: async (app) => {
      const ctx = contextOf(app, system)
      const { hourly, repositories } = (await settingsOf(ctx)).tracker
      if (!hourly || repositories.length === 0 || !(await secretOf(ctx, 'tracker', 'token'))) return
      await syncIssues(ctx, {})
    },
  },
]
