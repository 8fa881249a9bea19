import { useLayoutEffect, useRef } from 'react'

/**
 * Calls the newest function as soon as the elements of the component are gone. The clean-up of an effect would run
 * after the next frame, when a dialog around the component has already taken the focus.
 */
export function useAfterRemoval(run: () => void): void {
  const latest = useRef(run)
  latest.current = run
  useLayoutEffect(() => () => queueMicrotask(() => latest.current()), [])
}
