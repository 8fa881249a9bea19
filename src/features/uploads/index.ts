import type { Feature } from '../../feature.ts'
import { uploadRoutes } from './routes.ts'

export const uploads: Feature = { routes: uploadRoutes }
