/** The estimate in points. */
import type { PickerOption } from '../../../components/picker/options.tsx'
import type { FieldPickerProps } from './field.ts'
import { share } from './shares.ts'
import { TypedPicker } from './typed-picker.tsx'
import { words } from './words.ts'

const usual = [1, 2, 3, 5, 8, 13, 21]
/** The server has the same limit. */
const MOST = 10_000

export function EstimatePicker({ items, onChange, ...place }: FieldPickerProps) {
  const option = (points: number): PickerOption => ({
    value: String(points),
    label: words.points(points),
    has: share(items, ({ estimate }) => estimate === points),
  })
  const parse = (text: string) => {
    const typed = text.trim().toLowerCase()
    if ('none'.startsWith(typed)) return null
    return /^\d{1,5}$/.test(typed) && Number(typed) <= MOST ? option(Number(typed)) : undefined
  }
  return (
    <TypedPicker
      {...place}
      items={items}
      action={words.actions.estimate}
      placeholder={words.estimatePlaceholder}
      usual={usual.map(option)}
      none={{ label: words.noEstimate, has: share(items, ({ estimate }) => estimate === null) }}
      parse={parse}
      unknown={words.estimateUnknown}
      onChoose={(points) =>
        points === null
          ? onChange({ estimate: null }, words.said.estimate(undefined))
          : onChange({ estimate: Number(points) }, words.said.estimate(words.points(Number(points))))
      }
    />
  )
}
