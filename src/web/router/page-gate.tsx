/**
 * Shows a page once its first data is here. The frame stays as it is meanwhile: the page that was left is gone together
 * with its title, and after 200 ms there is a skeleton.
 */
import { lazyRouteComponent, type RouteComponent } from '@tanstack/react-router'
import { Suspense, useEffect, useState } from 'react'
import { NotLoadedPage, PendingPage } from '../frame/unloaded-page.tsx'
import { loadWhenReachable } from '../lib/lazy.ts'
import { onQuerySettled, pageQueries } from '../lib/page-queries.ts'
import { isUnreachable } from '../problem.ts'

/**
 * The router's `lazyRouteComponent`, but it waits for the server. By itself it reloads the document if a script is
 * missing: right after an upgrade, but without a connection that ends on an error page of the browser.
 */
export function lazyPage<M extends Record<string, RouteComponent>>(load: () => Promise<M>, name: keyof M & string) {
  const Page = lazyRouteComponent(() => loadWhenReachable(load), name)
  return {
    component: () => <PageGate page={Page} />,
    /** Begins to load the script when a link to the page is pointed at. */
    beforeLoad: () => void Page.preload?.(),
  }
}

function PageGate({ page: Page }: { page: RouteComponent }) {
  const [isUnloaded, setUnloaded] = useState(false)
  useEffect(() => onNothingLoaded(() => setUnloaded(true)), [])
  if (isUnloaded) return <NotLoadedPage onTry={() => setUnloaded(false)} />
  return (
    <Suspense fallback={<PendingPage />}>
      <Page />
    </Suspense>
  )
}

/** Calls the function when the server cannot be reached and the page has no data at all. */
const onNothingLoaded = (run: () => void): (() => void) =>
  onQuerySettled(() => {
    const queries = pageQueries()
    const isEmpty = queries.length > 0 && queries.every(({ data }) => data === undefined)
    if (isEmpty && queries.some(({ error }) => isUnreachable(error))) run()
  })
