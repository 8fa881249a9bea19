import type { Feature } from '../../feature.ts'
import { follow } from './follow.ts'
import { searchJobs } from './jobs.ts'

export const search: Feature = { jobs: searchJobs, background: follow }
