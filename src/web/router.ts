/** The pages and their addresses: router/ has them by area. */
import { createRouter } from '@tanstack/react-router'
import { NotFound, PageError } from './frame/errors.tsx'
import { isProblem } from './problem.ts'
import { queryClient } from './query-client.ts'
import { adminPages } from './router/admin.ts'
import { rootRoute, signedInRoute } from './router/inside.ts'
import { knowledgePages } from './router/knowledge.ts'
import { overviewPages } from './router/overview.ts'
import { settingsPages } from './router/settings.ts'
import { teamPages } from './router/team.ts'
import { projectPages } from './router/work.ts'

export const router = createRouter({
  routeTree: rootRoute.addChildren([
    signedInRoute.addChildren([
      ...overviewPages,
      ...projectPages,
      ...knowledgePages,
      ...teamPages,
      ...adminPages,
      settingsPages,
    ]),
  ]),
  context: { queries: queryClient },
  // Shown inside the frame, which stays as it is.
  defaultErrorComponent: PageError,
  // The page shows refusals, so they are not logged.
  defaultOnCatch: (error) => {
    if (!isProblem(error)) console.error(error)
  },
  defaultNotFoundComponent: NotFound,
  // Another record is another page: nothing of the one before is left in it.
  defaultRemountDeps: ({ params }) => params,
  defaultPreload: 'intent',
  defaultPreloadStaleTime: 0,
  scrollRestoration: true,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
