/**
 * Chooses one or several of a list, at the row or the control that it is about: a popover, or a sheet on a phone. The
 * caret is in its field at once, so one can type what one looks for.
 */
import {
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
  useEffect,
  useId,
  useLayoutEffect,
  useMemo,
  useRef,
} from 'react'
import { useAfterRemoval } from '../../lib/after-removal.ts'
import { useStatusBarLeft } from '../status-bar.tsx'
import { type EarlyKeys, useEarlyKeys } from './early-keys.ts'
import { PickerHints, StatusBarHints } from './hints.tsx'
import { OptionList } from './options.tsx'
import { placePicker } from './placement.ts'
import { type PickerStateOptions, usePickerState } from './state.ts'
import { words } from './words.ts'

export interface PickerProps extends PickerStateOptions {
  /** Where it is shown. */
  anchor: Element
  /** What is done, and with which records: "Assign", "LAN-48". */
  action: string
  subject: string
  /** What Enter does, in the foot: "assign". */
  verb: string
  placeholder?: string
  /** Shown if there are no options: that they are loading, or what went wrong. */
  nothing?: ReactNode
  /** What was pressed before its script was loaded. */
  early?: EarlyKeys
  /** Where the focus goes if the element that had it is gone. */
  onFocusLost?(): void
}

export function Picker(props: PickerProps) {
  const { anchor, action, subject, verb, toggles = false, onClose, onFocusLost } = props
  const popup = useRef<HTMLDivElement>(null)
  const field = useRef<HTMLInputElement>(null)
  const list = useId()
  const state = usePickerState(props)
  const { text, shown, active } = state
  useFocus(field, onFocusLost)
  useEarlyKeys(state, props.early)
  usePlace(popup, anchor)
  useOutsidePress(popup, onClose)
  useHints(subject, verb, state.hasDigits)
  const label = `${action} ${subject}`
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return
    // It closes before the browser moves the focus on from where it was.
    if (event.key === 'Tab') return onClose()
    if (event.key === 'Escape') onClose()
    else if (!state.press(event)) return
    event.preventDefault()
    event.stopPropagation()
  }
  return (
    <div
      ref={popup}
      // The top layer: no ancestor clips it, and a dialog around it still contains it.
      popover="manual"
      role="dialog"
      aria-label={label}
      className="pick"
      onKeyDown={onKeyDown}
      onBlur={({ currentTarget, relatedTarget }) => {
        if (relatedTarget && !currentTarget.contains(relatedTarget)) onClose()
      }}
    >
      <div className="pickask">
        <input
          ref={field}
          className="grow"
          role="combobox"
          aria-label={label}
          aria-expanded
          aria-controls={list}
          aria-autocomplete="list"
          aria-activedescendant={active && `${list}-${shown.indexOf(active)}`}
          autoComplete="off"
          spellCheck={false}
          placeholder={props.placeholder ?? words.placeholder}
          value={text}
          maxLength={200}
          onChange={(event) => state.setText(event.currentTarget.value)}
        />
        <span className="chip">
          {action} <b>{subject}</b>
        </span>
      </div>
      <OptionList id={list} label={label} toggles={toggles} {...state} />
      {shown.length === 0 && (
        <p className="nothing soft t13" role="status">
          {props.nothing ?? words.nothing}
        </p>
      )}
      <PickerHints verb={verb} toggles={toggles} />
    </div>
  )
}

/** On a touch screen the keyboard would hide the list, so that the field waits for a tap. */
const isTouch = (): boolean => matchMedia('(pointer: coarse)').matches

/** Focuses the field at once, and gives the focus back at the end. */
function useFocus(field: RefObject<HTMLInputElement | null>, onFocusLost: (() => void) | undefined): void {
  const before = useRef<Element>(null)
  useLayoutEffect(() => {
    before.current = document.activeElement
    const popup = field.current?.closest<HTMLElement>('[popover]')
    popup?.showPopover()
    if (isTouch()) {
      popup?.setAttribute('tabindex', '-1')
      popup?.focus()
    } else field.current?.focus({ preventScroll: true })
  }, [field])
  useAfterRemoval(() => {
    // Not if the reader has gone on meanwhile.
    if (document.activeElement !== document.body) return
    if (before.current instanceof HTMLElement && before.current.isConnected)
      before.current.focus({ preventScroll: true })
    else onFocusLost?.()
  })
}

const PHONE = '(max-width: 767px)'

/** Keeps the picker at its anchor while the page scrolls; a sheet stays above the keyboard of a phone. */
function usePlace(popup: RefObject<HTMLElement | null>, anchor: Element): void {
  useLayoutEffect(() => {
    const place = () => {
      const style = popup.current?.style
      if (!style) return
      const view = window.visualViewport
      if (matchMedia(PHONE).matches) {
        const hidden = view ? window.innerHeight - view.height - view.offsetTop : 0
        Object.assign(style, { left: '', top: '', bottom: `${Math.max(0, hidden)}px`, maxHeight: '' })
        return
      }
      if (!anchor.isConnected) return
      const size = { width: window.innerWidth, height: window.innerHeight }
      const { left, top, bottom, maxHeight } = placePicker(anchor.getBoundingClientRect(), size)
      const inPixels = (n: number | undefined) => (n === undefined ? 'auto' : `${n}px`)
      Object.assign(style, {
        left: inPixels(left),
        top: inPixels(top),
        bottom: inPixels(bottom),
        maxHeight: inPixels(maxHeight),
      })
    }
    place()
    window.addEventListener('scroll', place, true)
    window.addEventListener('resize', place)
    window.visualViewport?.addEventListener('resize', place)
    return () => {
      window.removeEventListener('scroll', place, true)
      window.removeEventListener('resize', place)
      window.visualViewport?.removeEventListener('resize', place)
    }
  }, [popup, anchor])
}

/** A press elsewhere closes the picker. */
function useOutsidePress(popup: RefObject<HTMLElement | null>, onClose: () => void): void {
  const latest = useRef(onClose)
  latest.current = onClose
  useEffect(() => {
    const press = (event: PointerEvent) => {
      if (!popup.current?.contains(event.target as Node)) latest.current()
    }
    window.addEventListener('pointerdown', press, true)
    return () => window.removeEventListener('pointerdown', press, true)
  }, [popup])
}

/** Shows the keys of the picker in the status bar. */
function useHints(subject: string, verb: string, digits: boolean): void {
  const hints = useMemo(() => <StatusBarHints subject={subject} verb={verb} digits={digits} />, [subject, verb, digits])
  useStatusBarLeft(hints)
}
