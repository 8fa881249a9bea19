import { runningCommand } from '../../control/client.ts'
import type { Feature } from '../../feature.ts'
import { checkCommand } from './control.ts'
import { upkeepJobs } from './jobs.ts'
import { checkServer, getRunningServer } from './service.ts'

export const upkeep: Feature = {
  control: [checkCommand.handle(checkServer), runningCommand.handle(getRunningServer)],
  jobs: upkeepJobs,
}
