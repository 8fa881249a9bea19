/** The estimate in points: some to choose from, or what is typed. */
import { useState } from 'react'
import type { PickerOption } from '../../../components/picker/options.tsx'
import { Picker } from '../../../components/picker/picker.tsx'
import type { FieldPickerProps } from './field.ts'
import { share, subjectOf } from './shares.ts'
import { words } from './words.ts'

const NONE = 'none'
const usual = [1, 2, 3, 5, 8, 13, 21]
/** The server has the same limit. */
const MOST = 10_000

export function EstimatePicker({ items, onChange, ...place }: FieldPickerProps) {
  const [text, setText] = useState('')
  const option = (points: number): PickerOption => ({
    value: String(points),
    label: words.points(points),
    has: share(items, ({ estimate }) => estimate === points),
  })
  const none: PickerOption = {
    value: NONE,
    label: words.noEstimate,
    has: share(items, ({ estimate }) => estimate === null),
  }
  const typed = text.trim().toLowerCase()
  const number = /^\d{1,5}$/.test(typed) && Number(typed) <= MOST ? [option(Number(typed))] : []
  const options = typed === '' ? [...usual.map(option), none] : NONE.startsWith(typed) ? [none] : number
  return (
    <Picker
      {...place}
      action={words.actions.estimate}
      subject={subjectOf(items)}
      verb={words.verbs.set}
      placeholder={words.estimatePlaceholder}
      options={options}
      filtered
      typesDigits
      nothing={words.estimateUnknown}
      onText={setText}
      onChoose={(points) =>
        points === NONE
          ? onChange({ estimate: null }, words.said.estimate(undefined))
          : onChange({ estimate: Number(points) }, words.said.estimate(words.points(Number(points))))
      }
    />
  )
}
