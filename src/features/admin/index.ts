import type { Feature } from '../../feature.ts'
import { adminRoutes } from './routes.ts'

export const admin: Feature = { routes: adminRoutes }
