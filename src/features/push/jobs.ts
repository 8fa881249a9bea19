import { contextOf } from '../../action.ts'
import { system } from '../../auth/actor.ts'
import type { JobDefinition } from '../../jobs/definition.ts'
import type { App } from '../../services.ts'
import { send } from './sending.ts'

export const pushJobs: JobDefinition<App>[] = [
  {
    name: 'push.send',
    when: ({ PUSH }) => PUSH === 'on',
    // Stops after about twenty minutes: the inbox has the notification anyway.
    retries: 8,
    timeoutSeconds: 60,
    run: async (app, data, signal) => {
      await send(contextOf(app, system, { signal }), data as { subscriptionId: string; notificationId: string })
    },
  },
]
