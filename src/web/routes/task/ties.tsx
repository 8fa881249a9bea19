/** What the task waits for, what it frees, its parts and what it is related to. */
import { Link } from '@tanstack/react-router'
import { Plus, X } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import type { TaskDetail } from '../../../features/tasks/schema.ts'
import type { Status } from '../../../records/work.ts'
import { StatusGlyph } from '../../components/glyphs.tsx'
import { statusNames } from '../../words.ts'
import { Section } from './section.tsx'
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
  may: boolean
  /** Sets all tasks that this one waits for, by id. */
  onWaitsFor(ids: string[]): void
}

export function Ties({ task, may, onWaitsFor }: Props) {
  const [adding, setAdding] = useState(false)
  const groups: [string, readonly Neighbour[]][] = [
    [words.frees, task.frees],
    [words.parts, task.subtasks],
    [words.related, task.related],
  ]
  const shown = groups.filter(([, list]) => list.length > 0)
  const waits = task.waitsFor.map(({ id }) => id)
  if (shown.length === 0 && waits.length === 0 && !may) return null
  return (
    <Section title={words.dependencies}>
      <div className="two">
        {(waits.length > 0 || may) && (
          <div>
            <p className="h3">{words.waitsFor}</p>
            <ul>
              {task.waitsFor.map((other) => (
                <Tie
                  key={other.id}
                  other={other}
                  onRemove={may ? () => onWaitsFor(waits.filter((id) => id !== other.id)) : undefined}
                />
              ))}
            </ul>
            {may && (
              <button type="button" className="btn small quiet soft" onClick={() => setAdding(true)}>
                <Plus className="i s12" aria-hidden />
                {words.addTask}
              </button>
            )}
          </div>
        )}
        {shown.map(([name, list]) => (
          <div key={name}>
            <p className="h3">{name}</p>
            <ul>
              {list.map((other) => (
                <Tie key={other.id} other={other} />
              ))}
            </ul>
          </div>
        ))}
      </div>
      {adding && (
        <Suspense>
          <Chooser
            title={words.addWaits(task.key)}
            kind="task"
            without={[task.id, ...waits]}
            onChoose={(id) => onWaitsFor([...waits, id])}
            onClose={() => setAdding(false)}
          />
        </Suspense>
      )}
    </Section>
  )
}

const Tie = ({ other, onRemove }: { other: Neighbour; onRemove?: (() => void) | undefined }) => (
  <li className="row">
    <Link className="dep grow" to="/tasks/$key" params={{ key: other.key }}>
      <StatusGlyph status={other.status} name={statusNames[other.status]} />
      <span className="key">{other.key}</span>
      <span className="cut">{other.title}</span>
    </Link>
    {onRemove && (
      <button type="button" className="ib s24" aria-label={words.noWait(other.key)} onClick={onRemove}>
        <X className="i s12" aria-hidden />
      </button>
    )}
  </li>
)
