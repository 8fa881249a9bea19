/** Which global dialog is open: the palette, or the list of shortcuts. */
import { createStore } from '../lib/store.ts'

const openOverlay = createStore<'palette' | 'keys' | undefined>(undefined)

export const openPalette = (): void => openOverlay.set('palette')
export const openShortcutList = (): void => openOverlay.set('keys')
export const closeOverlay = (): void => openOverlay.set(undefined)
export const useOverlay = openOverlay.use
