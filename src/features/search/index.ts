import type { Feature } from '../../feature.ts'
import { searchJobs } from './jobs.ts'

export const search: Feature = { jobs: searchJobs }
