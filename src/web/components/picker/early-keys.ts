/** The keys that are pressed while the script of a picker is loading: they are for the picker, not for the page. */
import { useEffect, useRef } from 'react'
import type { PickerState } from './state.ts'

export interface EarlyKeys {
  text: string
  /** Enter was pressed after the text. */
  enter: boolean
}

/** Keeps the pressed keys in `keys` while it is shown. Escape closes. */
export function EarlyKeyField({ keys, onClose }: { keys: EarlyKeys; onClose(): void }): null {
  useEffect(() => {
    const keep = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return
      const { key, target } = event
      // The reader has gone on to write somewhere.
      if (target instanceof HTMLElement && target.matches('input, textarea, [contenteditable]')) return onClose()
      if (key === 'Escape') onClose()
      else if (key === 'Enter') keys.enter = true
      else if (key === 'Backspace') keys.text = keys.text.slice(0, -1)
      else if (key.length === 1 && !keys.enter) keys.text += key
      else return
      event.preventDefault()
      event.stopImmediatePropagation()
    }
    window.addEventListener('keydown', keep, true)
    window.addEventListener('pointerdown', onClose)
    return () => {
      window.removeEventListener('keydown', keep, true)
      window.removeEventListener('pointerdown', onClose)
    }
  }, [keys, onClose])
  return null
}

/** Gives the early keys to the picker: the text once, and Enter or a digit when there is something to choose. */
export function useEarlyKeys({ text, shown, setText, press }: PickerState, early: EarlyKeys | undefined): void {
  const next = useRef<'text' | 'choice' | 'nothing'>(early ? 'text' : 'nothing')
  useEffect(() => {
    if (!early || next.current === 'nothing') return
    const isDigit = !early.enter && /^[1-9]$/.test(early.text)
    if (next.current === 'text') {
      next.current = early.enter || isDigit ? 'choice' : 'nothing'
      if (early.text !== '' && !isDigit) return setText(early.text)
    }
    if (next.current === 'nothing' || shown.length === 0) return
    next.current = 'nothing'
    // Not if the reader has typed something else meanwhile.
    if (isDigit ? text !== '' : text !== early.text) return
    if (!press({ key: isDigit ? early.text : 'Enter' })) setText(early.text)
  })
}
