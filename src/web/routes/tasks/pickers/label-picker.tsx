/** Labels: Enter adds or removes one, and the picker stays for the next. */
import { useQuery } from '@tanstack/react-query'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import type { PickerOption } from '../../../components/picker/options.tsx'
import { Picker } from '../../../components/picker/picker.tsx'
import { LabelDot } from '../card.tsx'
import { taskCountsQuery } from '../queries.ts'
import type { FieldPickerProps } from './field.ts'
import { share, subjectOf } from './shares.ts'
import { words } from './words.ts'

const MOST_LETTERS = 50
/** Before the name of a label that does not exist yet. */
const NEW = '+'

export function LabelPicker({ items, onChange, ...place }: FieldPickerProps) {
  const used = useQuery(taskCountsQuery(items[0]?.projectId ?? '', 'label')).data ?? []
  const [text, setText] = useState('')
  /** What was chosen here, which the tasks may not show yet. */
  const [chosen, setChosen] = useState<ReadonlyMap<string, boolean>>(new Map())
  const names = [
    ...new Set([
      ...items.flatMap(({ labels }) => labels),
      ...chosen.keys(),
      ...used.flatMap(({ value }) => value ?? []),
    ]),
  ]
  const hasOf = (name: string) => {
    const isOn = chosen.get(name)
    if (isOn !== undefined) return isOn ? 'all' : undefined
    return share(items, ({ labels }) => labels.includes(name))
  }
  const typed = text.trim().slice(0, MOST_LETTERS)
  const isNew = typed !== '' && !names.some((name) => name.toLowerCase() === typed.toLowerCase())
  const options: PickerOption[] = names.map((name) => ({
    value: name,
    label: name,
    glyph: <LabelDot name={name} />,
    has: hasOf(name),
  }))
  if (isNew)
    options.push({
      value: NEW + typed,
      label: words.createLabel(typed),
      glyph: <Plus className="i s14" aria-hidden />,
    })
  const toggle = (value: string) => {
    const name = value.startsWith(NEW) && !names.includes(value) ? value.slice(NEW.length) : value
    const adds = hasOf(name) !== 'all'
    setChosen(new Map([...chosen, [name, adds]]))
    onChange(adds ? { addLabels: [name] } : { removeLabels: [name] }, words.said.label(name, adds))
  }
  return (
    <Picker
      {...place}
      action={words.actions.label}
      subject={subjectOf(items)}
      verb={words.verbs.toggle}
      placeholder={words.labelPlaceholder}
      options={options}
      toggles
      onText={setText}
      onChoose={toggle}
    />
  )
}
