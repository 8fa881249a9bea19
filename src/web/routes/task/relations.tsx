/** The tasks that this task waits for, blocks, contains or is related to, and its links to other records. */
import { Link } from '@tanstack/react-router'
import { Plus, X } from 'lucide-react'
import { Suspense, useState } from 'react'
import type { TaskDetail } from '../../../features/tasks/schema.ts'
import type { Status } from '../../../records/task-states.ts'
import { StatusGlyph } from '../../components/glyphs.tsx'
import { lazy } from '../../lib/lazy.ts'
import { statusNames } from '../../words.ts'
import { TaskSection } from './section.tsx'
import { words } from './words.ts'

const Chooser = lazy(() => import('./chooser.tsx'))

interface Neighbour {
  id: string
  key: string
  title: string
  status: Status
}

interface Props {
  task: TaskDetail
  may: Record<'update' | 'relate', boolean>
  /** Sets all tasks that this one waits for, by id. */
  onWaitsFor(ids: string[]): void
  onRelate(id: string, related: boolean): void
}

export function TaskRelations({ task, may, onWaitsFor, onRelate }: Props) {
  const waits = task.waitsFor.map(({ id }) => id)
  const groups: GroupProps[] = [
    {
      name: words.waitsFor,
      list: task.waitsFor,
      ask: words.addWaits(task.key),
      onAdd: may.update ? (id) => onWaitsFor([...waits, id]) : undefined,
      onRemove: may.update ? (id) => onWaitsFor(waits.filter((one) => one !== id)) : undefined,
    },
    { name: words.frees, list: task.frees },
    { name: words.parts, list: task.subtasks },
    {
      name: words.related,
      list: task.related,
      ask: words.addRelated(task.key),
      onAdd: may.relate ? (id) => onRelate(id, true) : undefined,
      onRemove: may.relate ? (id) => onRelate(id, false) : undefined,
    },
  ]
  const shown = groups.filter(({ list, onAdd }) => list.length > 0 || onAdd)
  if (shown.length === 0) return null
  return (
    <TaskSection title={words.dependencies}>
      <div className="two">
        {shown.map((group) => (
          <Group key={group.name} {...group} self={task.id} />
        ))}
      </div>
    </TaskSection>
  )
}

interface GroupProps {
  name: string
  list: readonly Neighbour[]
  /** What the dialog asks in which one is added. */
  ask?: string
  onAdd?: ((id: string) => void) | undefined
  onRemove?: ((id: string) => void) | undefined
}

function Group({ name, list, ask = '', onAdd, onRemove, self }: GroupProps & { self: string }) {
  const [adding, setAdding] = useState(false)
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
      {onAdd && (
        <button type="button" className="btn small quiet soft" onClick={() => setAdding(true)}>
          <Plus className="i s12" aria-hidden />
          {words.addTask}
          <span className="hide"> ({name})</span>
        </button>
      )}
      {adding && onAdd && (
        <Suspense>
          <Chooser
            title={ask}
            kind="task"
            without={[self, ...list.map(({ id }) => id)]}
            onChoose={onAdd}
            onClose={() => setAdding(false)}
          />
        </Suspense>
      )}
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
