/** The due date. */
import { Calendar, CalendarOff } from 'lucide-react'
import type { PickerOption } from '../../../components/picker/options.tsx'
import { dueDay, localDay } from '../../../lib/times.ts'
import { addDays, parseDue } from './due-text.ts'
import type { FieldPickerProps } from './field.ts'
import { share } from './shares.ts'
import { TypedPicker } from './typed-picker.tsx'
import { words } from './words.ts'

const format = new Intl.DateTimeFormat(undefined, {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  timeZone: 'UTC',
})
const dayText = (day: string): string => format.format(new Date(day))

export function DuePicker({ items, onChange, ...place }: FieldPickerProps) {
  const today = localDay(Date.now())
  const option = (day: string, label = dayText(day)): PickerOption => ({
    value: day,
    label,
    glyph: <Calendar className="i s14" aria-hidden />,
    note: label === dayText(day) ? undefined : <span className="t12 soft">{dayText(day)}</span>,
    has: share(items, ({ dueAt }) => dueAt !== null && dueDay(dueAt) === day),
  })
  const usual = [
    option(today, words.dueDays.today),
    option(addDays(today, 1), words.dueDays.tomorrow),
    option(parseDue('fri', today) ?? today),
    option(parseDue('next week', today) ?? today, words.dueDays.nextWeek),
  ]
  const parse = (text: string) => {
    const day = parseDue(text, today)
    return typeof day === 'string' ? option(day) : day
  }
  return (
    <TypedPicker
      {...place}
      items={items}
      action={words.actions.due}
      placeholder={words.duePlaceholder}
      usual={usual.filter(isFirstOfDay)}
      none={{
        label: words.dueDays.none,
        glyph: <CalendarOff className="i s14" aria-hidden />,
        has: share(items, ({ dueAt }) => dueAt === null),
      }}
      parse={parse}
      unknown={words.dueUnknown}
      onChoose={(day) =>
        day === null
          ? onChange({ dueAt: null }, words.said.due(undefined))
          : onChange({ dueAt: day }, words.said.due(dayText(day)))
      }
    />
  )
}

/** On a Thursday, tomorrow is Friday: each day is shown once. */
const isFirstOfDay = ({ value }: PickerOption, place: number, all: readonly PickerOption[]): boolean =>
  all.findIndex((other) => other.value === value) === place
