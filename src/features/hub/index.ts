import type { Feature } from '../../feature.ts'
import { hubRoutes } from './routes.ts'

export const hub: Feature = { routes: hubRoutes, prepare: (app) => app.live.company.start() }
