/** Whether the sidebar shows icons only. This device remembers it. */
import { createStore } from '../lib/store.ts'

const KEY = 'sidebar'

const isStored = (): boolean => {
  try {
    return localStorage.getItem(KEY) === 'icons'
  } catch {
    return false
  }
}
const iconsOnly = createStore(isStored())

export const useIconsOnly = iconsOnly.use

export function toggleIconsOnly(): void {
  const next = !iconsOnly.get()
  iconsOnly.set(next)
  try {
    localStorage.setItem(KEY, next ? 'icons' : 'wide')
  } catch {
    // The browser stores nothing for this site.
  }
}
