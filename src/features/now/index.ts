import type { Feature } from '../../feature.ts'
import { nowRoutes } from './routes.ts'

/** Who works on what at this moment. */
export const now: Feature = { routes: nowRoutes }
