/** One registry of the keys that work now. A page's keys are registered while it is there; `?` lists them. */
import { useEffect, useRef } from 'react'
import { tinykeys } from 'tinykeys'

export interface KeyEntry {
  keys: string
  does: string
}
const registered = new Map<symbol, KeyEntry>()
export const keysNow = (): KeyEntry[] => [...registered.values()]

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
const inOverlay = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.closest('[role=dialog],[role=menu],[role=listbox]') !== null

/** Runs `act` when these keys are pressed, except while somebody types or a dialog is open. */
export function useKey(keys: string, does: string, act: () => void): void {
  const latest = useRef(act)
  latest.current = act
  useEffect(() => {
    const id = Symbol(keys)
    registered.set(id, { keys, does })
    const stop = tinykeys(window, {
      [keys]: (event) => {
        if (isTyping(event.target) || inOverlay(event.target)) return
        event.preventDefault()
        latest.current()
      },
    })
    return () => {
      registered.delete(id)
      stop()
    }
  }, [keys, does])
}
