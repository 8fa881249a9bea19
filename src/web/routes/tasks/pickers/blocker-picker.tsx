/** The tasks that must be done first: Enter adds or removes one, and the picker stays for the next. */
import { useState } from 'react'
import type { PickerOption } from '../../../components/picker/options.tsx'
import type { FieldPickerProps } from './field.ts'
import RecordPicker from './record-picker.tsx'
import { share, subjectOf } from './shares.ts'
import { words } from './words.ts'

/** A blocker of a project that the reader cannot see. */
const HIDDEN = 'hidden'

export function BlockerPicker({ items, onChange, ...place }: FieldPickerProps) {
  /** What was added here, by id, and what was removed, by key. */
  const [added, setAdded] = useState<ReadonlyMap<string, string>>(new Map())
  const [removed, setRemoved] = useState<ReadonlySet<string>>(new Set())
  const keys = [...new Set(items.flatMap(({ blockedBy }) => blockedBy))].filter((key) => key !== HIDDEN)
  const current: PickerOption[] = [
    ...keys.map((key) => ({
      value: key,
      label: key,
      has: removed.has(key) ? undefined : share(items, ({ blockedBy }) => blockedBy.includes(key)),
    })),
    ...[...added].map(([id, label]) => ({ value: id, label, has: 'all' as const })),
  ]
  const toggle = (value: string, label: string) => {
    const [name = label] = label.split(' ')
    const isOn = current.find((option) => option.value === value)?.has === 'all'
    if (keys.includes(value)) setRemoved(isOn ? new Set([...removed, value]) : removed.difference(new Set([value])))
    else setAdded(isOn ? new Map([...added].filter(([id]) => id !== value)) : new Map([...added, [value, label]]))
    onChange(isOn ? { removeBlockedBy: [value] } : { addBlockedBy: [value] }, words.said.blockedBy(name, !isOn))
  }
  return (
    <RecordPicker
      {...place}
      kind="task"
      action={words.actions.blockedBy}
      subject={subjectOf(items)}
      verb={words.verbs.toggle}
      toggles
      without={items.map(({ id }) => id)}
      first={current}
      refusal={(id) => {
        const first = items.find(({ frees }) => frees?.some((task) => task.id === id))
        return first && words.waitsForThis(first.key)
      }}
      onChoose={toggle}
    />
  )
}
