import type { Feature } from '../../feature.ts'
import { hubRoutes } from './routes.ts'

export const hub: Feature = {
  routes: hubRoutes,
  prepare: async (app) => {
    await app.live.presence.start()
    await app.live.broadcaster.start()
  },
}
