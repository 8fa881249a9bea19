import type { Feature } from '../../feature.ts'
import { outboxCommand } from './control.ts'
import * as events from './events.ts'
import { mailJobs } from './jobs.ts'
import { mailRoutes } from './routes.ts'
import { outbox } from './service.ts'

export const mail: Feature = {
  control: [outboxCommand.handle(outbox)],
  events: Object.values(events),
  routes: mailRoutes,
  jobs: mailJobs,
}
