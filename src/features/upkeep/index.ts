import { runningCommand } from '../../control/client.ts'
import type { Feature } from '../../feature.ts'
import { checkCommand } from './control.ts'
import { upkeepJobs } from './jobs.ts'
import { check, running } from './service.ts'

export const upkeep: Feature = {
  control: [checkCommand.handle(check), runningCommand.handle(running)],
  jobs: upkeepJobs,
}
