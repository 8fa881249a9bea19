import type { Feature } from '../../feature.ts'
import { oauthRoutes } from './routes.ts'

export const oauth: Feature = { routes: oauthRoutes }
