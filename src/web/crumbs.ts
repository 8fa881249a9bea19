/** Breadcrumbs: shown in the top bar, and as the title of the browser's tab. */
import { useMatches } from '@tanstack/react-router'
import { useEffect, useLayoutEffect } from 'react'
import { createStore } from './lib/store.ts'

export interface Crumb {
  label: string
  /** The last crumb has no address. */
  to?: string
  /** The id of the record that it names, which can become a favourite. */
  record?: string
}

const pageCrumbs = createStore<{ page: string | undefined; crumbs: readonly Crumb[] } | undefined>(undefined)

/** The id of the page on screen. One that is only about to come has not replaced it yet. */
const usePageId = () => useMatches({ select: (matches) => matches.at(-1)?.id })

/**
 * Sets the breadcrumbs of the page: `useCrumbs({ label: 'Notes', to: '/notes' }, { label: note.title })`. A page that
 * sets none has those of its entry in `frame/destinations.ts`.
 */
export function useCrumbs(...crumbs: readonly Crumb[]): void {
  const text = JSON.stringify(crumbs)
  const page = usePageId()
  useEffect(() => {
    const mine = { page, crumbs: JSON.parse(text) as Crumb[] }
    pageCrumbs.set(mine)
    return () => {
      if (pageCrumbs.get() === mine) pageCrumbs.set(undefined)
    }
  }, [text, page])
}

/** Returns the breadcrumbs that the page on screen has set. The page before may still be mounted, but hidden. */
export function usePageCrumbs(): readonly Crumb[] | undefined {
  const page = usePageId()
  const set = pageCrumbs.use()
  return set?.page === page ? set?.crumbs : undefined
}

/** Sets the title of the browser's tab, the innermost crumb first. */
export function useTitle(crumbs: readonly Crumb[]): void {
  const title = [...crumbs.map(({ label }) => label).reverse(), 'Tutti'].join(' · ')
  useLayoutEffect(() => {
    document.title = title
  }, [title])
}
