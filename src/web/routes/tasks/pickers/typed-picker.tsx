/** Some values to choose from, or what is typed: a due date, an estimate. */
import { useState } from 'react'
import type { PickerOption } from '../../../components/picker/options.tsx'
import { Picker } from '../../../components/picker/picker.tsx'
import type { FieldPickerProps } from './field.ts'
import { subjectOf } from './shares.ts'
import { words } from './words.ts'

const NONE = 'none'

interface Props extends Omit<FieldPickerProps, 'onChange'> {
  action: string
  placeholder: string
  /** Shown while nothing is typed, before `none`. */
  usual: readonly PickerOption[]
  none: Omit<PickerOption, 'value'>
  /** Returns what the text means; null for no value, undefined if it means nothing. */
  parse(text: string): PickerOption | null | undefined
  /** How to write a value. */
  unknown: string
  onChoose(value: string | null): void
}

export function TypedPicker({ items, usual, none, parse, unknown, onChoose, ...picker }: Props) {
  const [text, setText] = useState('')
  const noValue = { ...none, value: NONE }
  const typed = text.trim() === '' ? undefined : parse(text)
  const meant = typed === undefined ? [] : [typed ?? noValue]
  return (
    <Picker
      {...picker}
      subject={subjectOf(items)}
      verb={words.verbs.set}
      options={text.trim() === '' ? [...usual, noValue] : meant}
      filtered
      typesDigits
      nothing={unknown}
      onText={setText}
      onChoose={(value) => onChoose(value === NONE ? null : value)}
    />
  )
}
