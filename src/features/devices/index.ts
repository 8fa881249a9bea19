import type { Feature } from '../../feature.ts'
import { deviceRoutes } from './routes.ts'

export const devices: Feature = { routes: deviceRoutes }
