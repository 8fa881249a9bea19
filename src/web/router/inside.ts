/** The routes around every page, and the functions that declare a page. */
import {
  createRootRouteWithContext,
  createRoute,
  Outlet,
  type RouteComponent,
  retainSearchParams,
} from '@tanstack/react-router'
import { chooseTeam, currentTeamQuery, loadFrame, type Me, meQuery, type Team, teamsQuery } from '../account/session.ts'
import { FrameError, NotFound } from '../frame/errors.tsx'
import { Frame } from '../frame/frame.tsx'
import { isProblem } from '../problem.ts'
import type { queryClient } from '../query-client.ts'
import { lazyPage } from './page-gate.tsx'

/** Before the frame itself is loaded, there is nothing to show. */
const Nothing = () => null

export const rootRoute = createRootRouteWithContext<{ queries: typeof queryClient }>()({
  component: Outlet,
  pendingComponent: Nothing,
  notFoundComponent: NotFound,
  errorComponent: FrameError,
})

/** Queries that do not depend on the team. */
const ofUser = new Set<unknown>(['me', 'teams', 'current team', 'favourites'])

/** All pages of a signed-in user. `?team=` stays on every link, so that each tab keeps its own team. */
export const signedInRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'inside',
  validateSearch: (search: Record<string, unknown>): { team?: string } =>
    typeof search.team === 'string' ? { team: search.team } : {},
  search: { middlewares: [retainSearchParams(['team'])] },
  beforeLoad: async ({ context, search }): Promise<{ me: Me; team: Team }> => {
    try {
      await loadFrame(context.queries, search.team)
      const [me, team] = await Promise.all([
        context.queries.ensureQueryData(meQuery),
        chooseTeam(search.team, {
          teams: () => context.queries.ensureQueryData(teamsQuery),
          current: () => context.queries.ensureQueryData(currentTeamQuery),
          forget: () => context.queries.removeQueries({ predicate: ({ queryKey: [name] }) => !ofUser.has(name) }),
        }),
      ])
      return { me, team }
    } catch (error) {
      // queries.ts has already sent the browser to the sign-in page.
      if (isProblem(error) && error.status === 401) return new Promise(() => undefined)
      throw error
    }
  },
  component: Frame,
  pendingComponent: Nothing,
  notFoundComponent: NotFound,
  errorComponent: FrameError,
})

/** A page of its own: a chunk that is loaded when a link to it is pointed at. */
export const page = <const P extends string, M, N extends keyof M>(path: P, load: () => Promise<M>, name: N) =>
  createRoute({ getParentRoute: () => signedInRoute, path, ...lazyPage(load as Load, name as string) })

/** A page whose address has search parameters. */
export const pageWith = <const P extends string, S, M, N extends keyof M>(
  path: P,
  validateSearch: (search: Record<string, unknown>) => S,
  load: () => Promise<M>,
  name: N,
) =>
  createRoute({
    getParentRoute: () => signedInRoute,
    path,
    validateSearch,
    ...lazyPage(load as Load, name as string),
  })
type Load = () => Promise<Record<string, RouteComponent>>
