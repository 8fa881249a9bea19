import type { Feature } from '../../feature.ts'
import { tokenRoutes } from './routes.ts'

export const tokens: Feature = { routes: tokenRoutes }
