import type { Feature } from '../../feature.ts'
import { manualPages } from './html.ts'
import { manualRoutes } from './routes.ts'

export const manual: Feature = { routes: manualRoutes, pages: manualPages }
