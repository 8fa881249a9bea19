/**
 * Shows a page once its first data is here. The frame stays as it is meanwhile: the page that was left is gone together
 * with its title, and after 200 ms there is a skeleton.
 */
import { lazyRouteComponent, type RouteComponent } from '@tanstack/react-router'
import { Suspense, startTransition, useCallback, useEffect, useLayoutEffect, useState } from 'react'
import { AfterAMoment } from '../components/states.tsx'
import { NotLoadedPage, PageSkeleton } from '../frame/unloaded-page.tsx'
import { loadWhenReachable } from '../lib/lazy.ts'
import { onQuerySettled, pageQueries } from '../lib/page-queries.ts'
import { isUnreachable } from '../problem.ts'

/**
 * The router's `lazyRouteComponent`, but it waits for the server. By itself it reloads the document if a script is
 * missing: right after an upgrade, but without a connection that ends on an error page of the browser.
 */
export function lazyPage<M extends Record<string, RouteComponent>>(load: () => Promise<M>, name: keyof M & string) {
  const Page = lazyRouteComponent(() => loadWhenReachable(load), name) as RouteComponent & { preload?: () => unknown }
  const gate = () => <PageGate page={Page} />
  // The router preloads the script by this property, which is gone once that is done.
  return Object.defineProperty(gate, 'preload', { get: () => Page.preload }) as RouteComponent
}

function PageGate({ page: Page }: { page: RouteComponent }) {
  const [phase, setPhase] = useState<'first' | 'waiting' | 'later' | 'unloaded'>('first')
  const show = useCallback(() => {
    setPhase('waiting')
    // A transition shows the page as soon as it can be drawn. The fallback of a Suspense would stay for 300 ms.
    startTransition(() => setPhase('later'))
  }, [])
  useEffect(() => onNothingLoaded(() => setPhase('unloaded')), [])
  if (phase === 'unloaded') return <NotLoadedPage onTry={show} />
  if (phase === 'later') return <Page />
  if (phase === 'waiting')
    return (
      <AfterAMoment>
        <PageSkeleton />
      </AfterAMoment>
    )
  return (
    <Suspense fallback={<Suspended onMount={show} />}>
      <Page />
    </Suspense>
  )
}

function Suspended({ onMount }: { onMount(): void }) {
  useLayoutEffect(onMount, [onMount])
  return null
}

/** Calls the function when the server cannot be reached and the page has no data at all. */
const onNothingLoaded = (run: () => void): (() => void) =>
  onQuerySettled(() => {
    const queries = pageQueries()
    const isEmpty = queries.length > 0 && queries.every(({ data }) => data === undefined)
    if (isEmpty && queries.some(({ error }) => isUnreachable(error))) run()
  })
