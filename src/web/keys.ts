/** Keys that work on a page while it is there. */
import { useEffect, useRef } from 'react'
import { tinykeys } from 'tinykeys'

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
const inOverlay = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.closest('[role=dialog],[role=menu],[role=listbox]') !== null

/** Runs `act` when these keys are pressed, except while somebody types or a dialog is open. */
export function useKey(keys: string, act: () => void): void {
  const latest = useRef(act)
  latest.current = act
  useEffect(
    () =>
      tinykeys(window, {
        [keys]: (event) => {
          if (isTyping(event.target) || inOverlay(event.target)) return
          event.preventDefault()
          latest.current()
        },
      }),
    [keys],
  )
}
