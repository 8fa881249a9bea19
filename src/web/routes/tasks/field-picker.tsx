/** Chooses what to change of one or several tasks: state, priority, assignee, labels, due date. */
import { useQuery } from '@tanstack/react-query'
import { useRouteContext } from '@tanstack/react-router'
import { Check, Tag } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import type { TaskItem } from '../../../features/tasks/schema.ts'
import { priorities, statuses } from '../../../records/task-states.ts'
import { agentsQuery, membersQuery } from '../../account/session.ts'
import { Avatar } from '../../components/avatar.tsx'
import { Dialog } from '../../components/form/dialog.tsx'
import { Field } from '../../components/form/fields.tsx'
import { PriorityGlyph, StatusGlyph } from '../../components/glyphs.tsx'
import { priorityNames, statusNames } from '../../words.ts'
import type { BatchChange } from './batch.ts'
import { taskCountsQuery } from './queries.ts'
import { words } from './words.ts'

export type PickerField = 'status' | 'priority' | 'assignee' | 'label' | 'due'

interface Props {
  field: PickerField
  projectId: string
  items: readonly TaskItem[]
  onChange(change: BatchChange): void
  onClose(): void
}

export default function FieldPicker({ field, projectId, items, onChange, onClose }: Props) {
  const title = words.changeOf(words.fields[field], items.length === 1 ? (items[0]?.key ?? '') : words.n(items.length))
  const choose = (change: BatchChange) => {
    onChange(change)
    onClose()
  }
  return (
    <Dialog title={title} open onClose={onClose}>
      {field === 'due' && <DueField items={items} onChange={choose} />}
      {field === 'label' && <LabelField projectId={projectId} items={items} onChange={choose} />}
      {field === 'assignee' && <PartyField items={items} onChange={choose} />}
      {field === 'status' && (
        <Choices
          entries={statuses.map((status) => ({
            value: status,
            label: statusNames[status],
            glyph: <StatusGlyph status={status} />,
            chosen: items.every((task) => task.status === status),
          }))}
          onChoose={(value) => choose({ status: value as BatchChange['status'] })}
        />
      )}
      {field === 'priority' && (
        <Choices
          entries={priorities.map((priority) => ({
            value: priority,
            label: priorityNames[priority],
            glyph: <PriorityGlyph priority={priority} />,
            chosen: items.every((task) => task.priority === priority),
          }))}
          onChoose={(value) => choose({ priority: value as BatchChange['priority'] })}
        />
      )}
    </Dialog>
  )
}

interface Entry {
  value: string
  label: string
  glyph?: ReactNode
  chosen?: boolean
}

/** A list of buttons that narrows while one types, if it is long. */
function Choices({ entries, onChoose }: { entries: readonly Entry[]; onChoose(value: string): void }) {
  const [text, setText] = useState('')
  const shown = entries.filter(({ label }) => label.toLowerCase().includes(text.toLowerCase()))
  return (
    <div className="stack">
      {entries.length > 8 && (
        <input
          className="input"
          aria-label={words.narrow}
          placeholder={words.narrow}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
      )}
      <ul className="choices">
        {shown.map(({ value, label, glyph, chosen }) => (
          <li key={value}>
            <button type="button" className="opt" aria-pressed={chosen} onClick={() => onChoose(value)}>
              {glyph}
              <span className="grow cut">{label}</span>
              {chosen && <Check className="i s14" aria-hidden />}
            </button>
          </li>
        ))}
      </ul>
    </div>
  )
}

function PartyField({ items, onChange }: Pick<Props, 'items' | 'onChange'>) {
  const { team } = useRouteContext({ from: '/inside' })
  const members = useQuery(membersQuery(team.id)).data ?? []
  const agents = useQuery(agentsQuery(team.id)).data ?? []
  const parties = [
    ...members.map(({ id, name }) => ({ type: 'user' as const, id, name })),
    ...agents.map(({ id, name }) => ({ type: 'agent' as const, id, name })),
  ]
  return (
    <Choices
      entries={[
        { value: '', label: words.nobody, chosen: items.every(({ assignee }) => assignee === null) },
        ...parties.map((party) => ({
          value: party.id,
          label: party.name,
          glyph: <Avatar party={party} />,
          chosen: items.every(({ assignee }) => assignee?.id === party.id),
        })),
      ]}
      onChoose={(id) => onChange({ assignee: id === '' ? null : id })}
    />
  )
}

function LabelField({ projectId, items, onChange }: Omit<Props, 'field' | 'onClose'>) {
  const used = useQuery(taskCountsQuery(projectId, 'label')).data ?? []
  const [text, setText] = useState('')
  const all = [...new Set([...items.flatMap(({ labels }) => labels), ...used.flatMap(({ value }) => value ?? [])])]
  const everyHas = (label: string) => items.every(({ labels }) => labels.includes(label))
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault()
        if (text.trim() !== '') onChange({ addLabels: [text.trim()] })
      }}
    >
      <input
        className="input"
        aria-label={words.newLabel}
        placeholder={words.newLabel}
        value={text}
        maxLength={50}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      <Choices
        entries={all
          .filter((label) => label.toLowerCase().includes(text.toLowerCase()))
          .slice(0, 50)
          .map((label) => ({
            value: label,
            label,
            glyph: <Tag className="i s14" aria-hidden />,
            chosen: everyHas(label),
          }))}
        onChoose={(label) => onChange(everyHas(label) ? { removeLabels: [label] } : { addLabels: [label] })}
      />
    </form>
  )
}

function DueField({ items, onChange }: Pick<Props, 'items' | 'onChange'>) {
  const [only] = items
  const [value, setValue] = useState(only?.dueAt ? new Date(only.dueAt).toLocaleDateString('sv') : '')
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault()
        onChange({ dueAt: value === '' ? null : value })
      }}
    >
      <Field label={words.fields.due} type="date" value={value} onText={setValue} />
      <span className="row">
        <button type="button" className="btn" onClick={() => onChange({ dueAt: null })}>
          {words.noDue}
        </button>
        <span className="grow" />
        <button type="submit" className="btn main">
          {words.apply}
        </button>
      </span>
    </form>
  )
}
