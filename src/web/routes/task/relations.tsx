/** The tasks that this task waits for, blocks, contains or is related to, and its links to other records. */
import { Link } from '@tanstack/react-router'
import { Plus, X } from 'lucide-react'
import { type ReactNode, Suspense, useState } from 'react'
import type { TaskDetail, TaskPatch } from '../../../features/tasks/schema.ts'
import type { Status } from '../../../records/task-states.ts'
import { StatusGlyph } from '../../components/glyphs.tsx'
import { lazy } from '../../lib/lazy.ts'
import { statusNames } from '../../words.ts'
import type { PickerField } from '../tasks/pickers/field.ts'
import { LazyFieldPicker } from '../tasks/pickers/lazy-picker.tsx'
import { describePatch } from './queries.ts'
import { TaskSection } from './section.tsx'
import { words } from './words.ts'

const RecordPicker = lazy(() => import('../tasks/pickers/record-picker.tsx'))

interface Neighbour {
  id: string
  key: string
  title: string
  status: Status
}

interface Props {
  task: TaskDetail
  may: Record<'update' | 'relate', boolean>
  onChange(patch: TaskPatch): void
  onRelate(id: string, related: boolean): void
}

export function TaskRelations({ task, may, onChange, onRelate }: Props) {
  const groups: GroupProps[] = [
    {
      name: words.waitsFor,
      list: task.waitsFor,
      field: 'blockedBy',
      picker: may.update
        ? (place) => (
            <LazyFieldPicker
              {...place}
              field="blockedBy"
              items={[task]}
              onChange={(change, said) => onChange(describePatch(change, said))}
            />
          )
        : undefined,
      onRemove: may.update ? (id) => onChange({ removeBlockedBy: [id] }) : undefined,
    },
    { name: words.frees, list: task.frees },
    { name: words.parts, list: task.subtasks },
    {
      name: words.related,
      list: task.related,
      picker: may.relate
        ? (place) => (
            <RecordPicker
              {...place}
              action={words.relatedTo}
              subject={task.key}
              verb={words.choose}
              kind="task"
              without={[task.id, ...task.related.map(({ id }) => id)]}
              onChoose={(id) => onRelate(id, true)}
            />
          )
        : undefined,
      onRemove: may.relate ? (id) => onRelate(id, false) : undefined,
    },
  ]
  const shown = groups.filter(({ list, picker }) => list.length > 0 || picker)
  if (shown.length === 0) return null
  return (
    <TaskSection title={words.dependencies}>
      <div className="two">
        {shown.map((group) => (
          <Group key={group.name} {...group} />
        ))}
      </div>
    </TaskSection>
  )
}

interface GroupProps {
  name: string
  list: readonly Neighbour[]
  /** The field whose key adds one. */
  field?: PickerField
  /** Chooses one to add. */
  picker?: ((place: { anchor: Element; onClose(): void }) => ReactNode) | undefined
  onRemove?: ((id: string) => void) | undefined
}

function Group({ name, list, field, picker, onRemove }: GroupProps) {
  const [anchor, setAnchor] = useState<Element>()
  return (
    <div>
      <p className="h3">{name}</p>
      <ul>
        {list.map((other) => (
          <RelatedTask
            key={other.id}
            other={other}
            label={words.notTied(name, other.key)}
            onRemove={onRemove && (() => onRemove(other.id))}
          />
        ))}
      </ul>
      {picker && (
        <button
          type="button"
          className="btn small quiet soft"
          data-field={field}
          aria-haspopup="dialog"
          onClick={({ currentTarget }) => setAnchor(currentTarget)}
        >
          <Plus className="i s12" aria-hidden />
          {words.addTask}
          <span className="hide"> ({name})</span>
        </button>
      )}
      {anchor && <Suspense>{picker?.({ anchor, onClose: () => setAnchor(undefined) })}</Suspense>}
    </div>
  )
}

/** Other records that are linked with the task, or mention it. */
export const TaskLinks = ({ links }: { links: TaskDetail['links'] }) =>
  links.length > 0 && (
    <TaskSection title={words.links} n={links.length}>
      <ul>
        {links.map(({ id, type, title, path, kind }) => (
          <li key={`${id} ${kind}`}>
            <Link className="dep" to={path}>
              <span className="flag">{type.replaceAll('_', ' ')}</span>
              <span className="cut">{title}</span>
            </Link>
          </li>
        ))}
      </ul>
    </TaskSection>
  )

interface TieProps {
  other: Neighbour
  /** What the button that removes it is called. */
  label: string
  onRemove?: (() => void) | undefined
}

const RelatedTask = ({ other, label, onRemove }: TieProps) => (
  <li className="row">
    <Link className="dep grow" to="/tasks/$key" params={{ key: other.key }}>
      <StatusGlyph status={other.status} name={statusNames[other.status]} />
      <span className="key">{other.key}</span>
      <span className="cut">{other.title}</span>
    </Link>
    {onRemove && (
      <button type="button" className="ib s24" aria-label={label} onClick={onRemove}>
        <X className="i s12" aria-hidden />
      </button>
    )}
  </li>
)
