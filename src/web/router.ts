/** The pages and their addresses: router/ has them by area. */
import { createRouter } from '@tanstack/react-router'
import { Failed, Missing } from './frame/failed.tsx'
import { queries } from './queries.ts'
import { admin } from './router/admin.ts'
import { inside, root } from './router/inside.ts'
import { knowledge } from './router/knowledge.ts'
import { overview } from './router/overview.ts'
import { settings } from './router/settings.ts'
import { team } from './router/team.ts'
import { work } from './router/work.ts'

export const router = createRouter({
  routeTree: root.addChildren([inside.addChildren([...overview, ...work, ...knowledge, ...team, ...admin, settings])]),
  context: { queries },
  // Shown inside the frame, which stays as it is.
  defaultErrorComponent: Failed,
  defaultNotFoundComponent: Missing,
  defaultPreload: 'intent',
  defaultPreloadStaleTime: 0,
  scrollRestoration: true,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
