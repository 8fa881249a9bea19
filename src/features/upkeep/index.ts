import type { Feature } from '../../feature.ts'
import { upkeepJobs } from './jobs.ts'

export const upkeep: Feature = { jobs: upkeepJobs }
