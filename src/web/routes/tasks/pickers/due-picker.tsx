/** The due date: some days to choose from, or what is typed. */
import { Calendar, CalendarOff } from 'lucide-react'
import { useState } from 'react'
import type { PickerOption } from '../../../components/picker/options.tsx'
import { Picker } from '../../../components/picker/picker.tsx'
import { dueDay, localDay } from '../../../lib/times.ts'
import { addDays, parseDue } from './due-text.ts'
import type { FieldPickerProps } from './field.ts'
import { share, subjectOf } from './shares.ts'
import { words } from './words.ts'

const NONE = 'none'
const format = new Intl.DateTimeFormat(undefined, {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  timeZone: 'UTC',
})
const dayText = (day: string): string => format.format(new Date(day))

export function DuePicker({ items, onChange, ...place }: FieldPickerProps) {
  const [text, setText] = useState('')
  const today = localDay(Date.now())
  const option = (day: string, label = dayText(day)): PickerOption => ({
    value: day,
    label,
    glyph: <Calendar className="i s14" aria-hidden />,
    note: label === dayText(day) ? undefined : <span className="t12 soft">{dayText(day)}</span>,
    has: share(items, ({ dueAt }) => dueAt !== null && dueDay(dueAt) === day),
  })
  const none: PickerOption = {
    value: NONE,
    label: words.dueDays.none,
    glyph: <CalendarOff className="i s14" aria-hidden />,
    has: share(items, ({ dueAt }) => dueAt === null),
  }
  const parsed = parseDue(text, today)
  const usual = [
    option(today, words.dueDays.today),
    option(addDays(today, 1), words.dueDays.tomorrow),
    option(parseDue('fri', today) ?? today),
    option(parseDue('next week', today) ?? today, words.dueDays.nextWeek),
    none,
  ]
  const typed = parsed === undefined ? [] : [parsed === null ? none : option(parsed)]
  const options = text.trim() === '' ? usual.filter(isFirstOfDay) : typed
  return (
    <Picker
      {...place}
      action={words.actions.due}
      subject={subjectOf(items)}
      verb={words.verbs.set}
      placeholder={words.duePlaceholder}
      options={options}
      filtered
      typesDigits
      nothing={words.dueUnknown}
      onText={setText}
      onChoose={(day) =>
        day === NONE
          ? onChange({ dueAt: null }, words.said.due(undefined))
          : onChange({ dueAt: day }, words.said.due(dayText(day)))
      }
    />
  )
}

/** On a Thursday, tomorrow is Friday: each day is shown once. */
const isFirstOfDay = ({ value }: PickerOption, place: number, all: readonly PickerOption[]): boolean =>
  all.findIndex((other) => other.value === value) === place
