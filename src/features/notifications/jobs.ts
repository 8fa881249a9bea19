import { contextOf } from '../../action.ts'
import { system } from '../../auth/actor.ts'
import type { JobDefinition } from '../../jobs/queue.ts'
import * as announcements from './announcements.ts'

export const notificationJobs: JobDefinition[] = [
  {
    name: 'notifications.deliver',
    run: async (app, data) => {
      await announcements.deliverRest(contextOf(app, system), data as { id: string })
    },
  },
]
