/** Which global dialog is open: the palette, or the list of shortcuts. */
import { store } from '../store.ts'

const shown = store<'palette' | 'keys' | undefined>(undefined)

export const openPalette = (): void => shown.set('palette')
export const openKeys = (): void => shown.set('keys')
export const closeOverlay = (): void => shown.set(undefined)
export const useOverlay = shown.use
