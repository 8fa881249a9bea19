/** The current page, for the frame: its project and its breadcrumbs. */
import { useQuery } from '@tanstack/react-query'
import { useLocation, useMatches, useRouteContext } from '@tanstack/react-router'
import { projectsQuery } from '../account/session.ts'
import { type Crumb, usePageCrumbs } from '../crumbs.ts'
import { destinationOf, destinationsFor, projectAddress, projectViews } from './destinations.ts'

const IN_PROJECT = /^\/projects\/([^/]+)(\/[^/]+)?/
/** A task that is still loading is called by its key. */
const OF_TASK = /^\/tasks\/([^/]+)$/

/** Returns the address of the page on screen. `useLocation` returns that of the next page while it still loads. */
export function usePagePath(): string {
  const pathname = useLocation({ select: ({ pathname }) => pathname })
  const ofPage = useMatches({ select: (matches) => (matches.length > 2 ? matches.at(-1)?.pathname : undefined) })
  return ofPage ?? pathname
}

const slugIn = (pathname: string): string | undefined => {
  const slug = IN_PROJECT.exec(pathname)?.[1]
  return slug && decodeURIComponent(slug)
}

/** Returns the slug of the project that the page belongs to. */
export const useProjectSlug = (): string | undefined => slugIn(useLocation({ select: ({ pathname }) => pathname }))

/** Returns the slug of the project that the sidebar shows open: of the address, a filter, or the breadcrumbs. */
export function useOpenProject(): string | undefined {
  const slug = useProjectSlug()
  const filter = useLocation({ select: ({ search }) => (search as { project?: unknown }).project })
  const crumb = usePageCrumbs()
    ?.map(({ to }) => to && IN_PROJECT.exec(to)?.[1])
    .find(Boolean)
  return slug ?? (typeof filter === 'string' ? filter : undefined) ?? (crumb && decodeURIComponent(crumb))
}

/** Returns the destinations of the reader, and the one that the page belongs to. */
export function useDestinations() {
  const { me } = useRouteContext({ from: '/inside' })
  const pathname = useLocation({ select: ({ pathname }) => pathname })
  const destinations = destinationsFor(me.role)
  return { destinations, at: destinationOf(pathname, destinations) }
}

/** Returns the breadcrumbs that the page set, else those of its address. */
export function useBreadcrumbs(): readonly Crumb[] {
  const named = usePageCrumbs()
  const { team } = useRouteContext({ from: '/inside' })
  const pathname = usePagePath()
  const slug = slugIn(pathname)
  const at = destinationOf(pathname, useDestinations().destinations)
  const project = useQuery(projectsQuery(team.id)).data?.find((one) => one.slug === slug || one.id === slug)
  if (named) return named
  const key = OF_TASK.exec(pathname)?.[1]
  if (key) return [{ label: decodeURIComponent(key) }]
  if (!slug) return at ? [{ label: at.label }] : []
  const view = projectViews.find(({ path }) => path !== '' && path === IN_PROJECT.exec(pathname)?.[2])
  const name = project?.name ?? slug
  const first = { label: name, ...(project && { record: project.id }) }
  return view ? [{ ...first, to: projectAddress(slug) }, { label: view.label }] : [first]
}
