import type { Feature } from '../../feature.ts'
import { issueRoutes } from './routes.ts'

export const issues: Feature = { routes: issueRoutes }
