import type { Feature } from '../../feature.ts'
import { audit } from './audit.ts'
import { auditCommand } from './control.ts'
import { adminJobs } from './jobs.ts'
import { adminRoutes } from './routes.ts'

export const admin: Feature = { control: [auditCommand.handle(audit)], routes: adminRoutes, jobs: adminJobs }
