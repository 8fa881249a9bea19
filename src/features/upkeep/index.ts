import type { Feature } from '../../feature.ts'
import { upkeepJobs } from './jobs.ts'
import { check, running } from './service.ts'

export const upkeep: Feature = { control: [check, running], jobs: upkeepJobs }
