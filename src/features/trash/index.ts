import type { Feature } from '../../feature.ts'
import { trashRoutes } from './routes.ts'

export const trash: Feature = { routes: trashRoutes }
