/** Breadcrumbs: shown in the top bar, and as the title of the browser's tab. */
import { useEffect } from 'react'
import { createStore } from './lib/store.ts'

export interface Crumb {
  label: string
  /** The last crumb has no address. */
  to?: string
  /** The id of the record that it names, which can become a favourite. */
  record?: string
}

const pageCrumbs = createStore<readonly Crumb[] | undefined>(undefined)

/**
 * Sets the breadcrumbs of the page: `useCrumbs({ label: 'Notes', to: '/notes' }, { label: note.title })`. A page that
 * sets none has those of its entry in `frame/destinations.ts`.
 */
export function useCrumbs(...crumbs: readonly Crumb[]): void {
  const text = JSON.stringify(crumbs)
  useEffect(() => {
    const mine = JSON.parse(text) as Crumb[]
    pageCrumbs.set(mine)
    return () => {
      if (pageCrumbs.get() === mine) pageCrumbs.set(undefined)
    }
  }, [text])
}

export const usePageCrumbs = pageCrumbs.use

/** Sets the title of the browser's tab, the innermost crumb first. */
export function useTitle(crumbs: readonly Crumb[]): void {
  const title = [...crumbs.map(({ label }) => label).reverse(), 'Tutti'].join(' · ')
  useEffect(() => {
    document.title = title
  }, [title])
}
