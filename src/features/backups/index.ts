import type { Feature } from '../../feature.ts'
import { backupJobs } from './jobs.ts'

export const backups: Feature = { jobs: backupJobs }
