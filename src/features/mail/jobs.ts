import { contextOf } from '../../action.ts'
import { system } from '../../auth/actor.ts'
import type { JobDefinition } from '../../jobs/definition.ts'
import type { App } from '../../services.ts'
import * as mail from './service.ts'

export const mailJobs: JobDefinition<App>[] = [
  {
    name: 'mail.send',
    // An instance without a mail server would only delay the mails that another one can send.
    when: ({ SMTP_URL }) => SMTP_URL !== undefined,
    timeoutSeconds: 60,
    // A mail server may be down over a weekend. An expired mail ends its job without an error.
    retries: 60,
    run: async (app, data) => {
      await mail.send(contextOf(app, system), data as { id: string })
    },
  },
  {
    name: 'mail.wipeStale',
    every: '*/10 * * * *',
    run: async (app) => {
      await mail.wipeStale(contextOf(app, system), {})
    },
  },
]
