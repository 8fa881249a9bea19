import type { Feature } from '../../feature.ts'
import { workspaceRoutes } from './routes.ts'

export const workspaces: Feature = { routes: workspaceRoutes }
