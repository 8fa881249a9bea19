/** Where the reader is: shown in the bar above the page and as the title of the browser's tab. */
import { useEffect } from 'react'
import { store } from './store.ts'

export interface Crumb {
  label: string
  /** The address of what it names; the last crumb has none. */
  to?: string
}

const named = store<readonly Crumb[] | undefined>(undefined)

/**
 * Names what the page shows, from the outside in: `useCrumbs({ label: 'Notes', to: '/notes' }, { label: note.title })`.
 * A page that names nothing has the crumbs of its entry in `frame/destinations.ts`.
 */
export function useCrumbs(...crumbs: readonly Crumb[]): void {
  const text = JSON.stringify(crumbs)
  useEffect(() => {
    const mine = JSON.parse(text) as Crumb[]
    named.set(mine)
    return () => {
      if (named.get() === mine) named.set(undefined)
    }
  }, [text])
}

export const useNamedCrumbs = named.use

/** Sets the title of the browser's tab: what is shown first, then what it belongs to. */
export function useTitle(crumbs: readonly Crumb[]): void {
  const title = [...crumbs.map(({ label }) => label).reverse(), 'Tutti'].join(' · ')
  useEffect(() => {
    document.title = title
  }, [title])
}
