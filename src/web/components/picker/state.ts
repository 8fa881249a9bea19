/** What is typed in a picker, which option is active, and what the keys do. */
import { type KeyboardEvent, useState } from 'react'
import { filterOptions } from './match.ts'
import type { PickerOption } from './options.tsx'

const PAGE = 8

export interface PickerStateOptions {
  options: readonly PickerOption[]
  /** The options already fit the typed text, which `onText` gets. */
  filtered?: boolean
  onText?(text: string): void
  /** Choosing switches an option on or off, and the picker stays. */
  toggles?: boolean
  /** The digits are part of the text, and choose nothing. */
  typesDigits?: boolean
  onChoose(value: string): void
  onClose(): void
}

export function usePickerState({
  options,
  filtered,
  toggles,
  typesDigits,
  onText,
  onChoose,
  onClose,
}: PickerStateOptions) {
  const [text, setText] = useState('')
  const [wanted, setWanted] = useState<string>()
  const shown = filtered ? options : inGroups(filterOptions(options, text))
  const active =
    shown.find(({ value }) => value === wanted) ??
    (text === '' ? shown.find(({ has }) => has === 'all') : undefined) ??
    shown[0]
  const type = (next: string) => {
    setText(next)
    setWanted(undefined)
    onText?.(next)
  }
  const choose = (option: PickerOption | undefined) => {
    if (!option || option.refused) return setWanted(option?.value)
    onChoose(option.value)
    if (!toggles) return onClose()
    if (text !== '') type('')
    setWanted(option.value)
  }
  const hasDigits = !typesDigits && text === ''
  /** Returns whether the key was meant for the list. */
  const press = (event: Pick<KeyboardEvent, 'key'> & Partial<KeyboardEvent>): boolean => {
    const { key } = event
    if (event.ctrlKey || event.metaKey || event.altKey) return false
    const digit = hasDigits && /^[1-9]$/.test(key) ? Number(key) : 0
    if (digit > 0) {
      choose(shown[digit - 1])
      return true
    }
    if (key === 'Enter') {
      choose(active)
      return true
    }
    const next = nextPlace(key, active ? shown.indexOf(active) : 0, shown.length)
    if (next === undefined) return false
    setWanted(shown[next]?.value)
    return true
  }
  return { text, setText: type, shown, active, point: setWanted, choose, press, hasDigits }
}

export type PickerState = ReturnType<typeof usePickerState>

/** Returns the place to which a key moves; undefined if it is no key of a list. */
function nextPlace(key: string, from: number, count: number): number | undefined {
  const last = Math.max(0, count - 1)
  const places: Record<string, number> = {
    ArrowDown: from === last ? 0 : from + 1,
    ArrowUp: from === 0 ? last : from - 1,
    PageDown: Math.min(last, from + PAGE),
    PageUp: Math.max(0, from - PAGE),
    Home: 0,
    End: last,
  }
  return places[key]
}

/** Keeps the options of a group together, in the order of their best ones. */
function inGroups(options: readonly PickerOption[]): readonly PickerOption[] {
  const groups = Map.groupBy(options, ({ group }) => group)
  return groups.size < 2 ? options : [...groups.values()].flat()
}
