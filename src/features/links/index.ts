import type { Feature } from '../../feature.ts'
import { linkRoutes } from './routes.ts'

export const links: Feature = { routes: linkRoutes }
