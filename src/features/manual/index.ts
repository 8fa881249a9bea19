import type { Feature } from '../../feature.ts'
import { manualRoutes } from './routes.ts'

export const manual: Feature = { routes: manualRoutes }
