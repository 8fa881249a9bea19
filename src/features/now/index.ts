import type { Feature } from '../../feature.ts'
import { nowRoutes } from './routes.ts'

export const now: Feature = { routes: nowRoutes }
