import type { Feature } from '../../feature.ts'
import { inviteRoutes } from './routes.ts'

export const invites: Feature = { routes: inviteRoutes }
