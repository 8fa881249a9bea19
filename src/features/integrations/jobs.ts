import { contextOf } from '../../action.ts'
import { system } from '../../auth/actor.ts'
import type { JobDefinition } from '../../jobs/definition.ts'
import type { App } from '../../services.ts'
import { forwardOne } from './forwarding.ts'

export const integrationJobs: JobDefinition<App>[] = [
  {
    name: 'integrations.forward',
    // Stops after about twenty minutes: older notifications are not worth forwarding.
    retries: 8,
    timeoutSeconds: 60,
    run: async (app, data, signal) => {
      await forwardOne(contextOf(app, system, { signal }), data as { integrationId: string; notificationId: string })
    },
  },
]
