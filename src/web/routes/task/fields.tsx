import { useQuery } from '@tanstack/react-query'
import { Link, useRouteContext } from '@tanstack/react-router'
import { type ReactNode, useContext, useState } from 'react'
import type { TaskDetail, TaskPatch } from '../../../features/tasks/schema.ts'
import { type Priority, priorities, type Status, statuses } from '../../../records/task-states.ts'
import { agentsQuery, membersQuery } from '../../account/session.ts'
import { Avatar } from '../../components/avatar.tsx'
import { splitList } from '../../components/form/form.tsx'
import { InlineEdit } from '../../components/form/inline-edit.tsx'
import { PriorityGlyph, StatusGlyph } from '../../components/glyphs.tsx'
import { LazyMenu } from '../../components/lazy-menu.tsx'
import type { MenuEntry } from '../../components/menu.tsx'
import { Property } from '../../components/section.tsx'
import { useCommands } from '../../shortcuts.ts'
import { priorityNames, statusNames } from '../../words.ts'
import { DueDate, LabelTag } from '../tasks/card.tsx'
import { TaskParents } from './parents.tsx'
import { HeadingLevel } from './section.tsx'
import { words } from './words.ts'

interface Props {
  task: TaskDetail
  may: boolean
  onChange(patch: TaskPatch): void
  children: ReactNode
}

/** Beside a list, the keys of the list are for what is open, too. */
function useFieldKeys(may: boolean, onMine: () => void): void {
  const isPage = useContext(HeadingLevel) === 1
  const begin = (key: string) => {
    const button = document.querySelector<HTMLElement>(`aside [data-key=${key}]`)
    button?.focus()
    button?.click()
  }
  const keyed = { s: words.state, p: words.priority, a: words.assignee, l: words.labels, d: words.due }
  useCommands(
    may && isPage
      ? [
          ...Object.entries(keyed).map(([keys, label]) => ({ keys, label, run: () => begin(keys) })),
          { keys: 'i', label: words.assignMe, run: onMine },
        ]
      : [],
  )
}

export function TaskFields({ task, may, onChange, children }: Props) {
  useFieldKeys(may, () => onChange({ assignee: 'me' }))
  return (
    <aside aria-label={words.fields}>
      <dl>
        <Choice
          name={words.state}
          hot="s"
          may={may}
          entries={statuses.map((status) => ({
            value: status,
            label: statusNames[status],
            glyph: <StatusGlyph status={status} />,
            chosen: status === task.status,
          }))}
          onChoose={(status) => onChange({ status: status as Status })}
        >
          <StatusGlyph status={task.status} />
          {statusNames[task.status]}
        </Choice>
        <Choice
          name={words.priority}
          hot="p"
          may={may}
          entries={priorities.map((priority) => ({
            value: priority,
            label: priorityNames[priority],
            glyph: <PriorityGlyph priority={priority} />,
            chosen: priority === task.priority,
          }))}
          onChoose={(priority) => onChange({ priority: priority as Priority })}
        >
          <PriorityGlyph priority={task.priority} />
          {priorityNames[task.priority]}
        </Choice>
        <Assignee task={task} may={may} onChange={onChange} />
        <Editable
          name={words.due}
          hot="d"
          may={may}
          type="date"
          value={task.dueAt ? dateOf(task.dueAt) : ''}
          onSave={(text) => onChange({ dueAt: text === '' ? null : text })}
        >
          {task.dueAt && <DueDate at={task.dueAt} />}
        </Editable>
        <Editable
          name={words.labels}
          hot="l"
          may={may}
          type="text"
          hint={words.withCommas}
          value={task.labels.join(', ')}
          onSave={(text) => onChange({ labels: splitList(text) })}
        >
          {task.labels.map((label) => (
            <LabelTag key={label} name={label} />
          ))}
        </Editable>
        <Editable
          name={words.estimate}
          may={may}
          type="number"
          value={task.estimate === null ? '' : String(task.estimate)}
          onSave={(text) => onChange({ estimate: text === '' ? null : Number(text) })}
        >
          {task.estimate !== null && words.points(task.estimate)}
        </Editable>
        <TaskParents task={task} may={may} onChange={onChange} />
        <Property name={words.project}>
          <Link className="cut" to="/projects/$slug/tasks" params={{ slug: task.project.slug }}>
            {task.project.name}
          </Link>
        </Property>
      </dl>
      {children}
    </aside>
  )
}

/** The day of an instant where the reader is, as a date field wants it. */
const dateOf = (instant: string): string => new Date(instant).toLocaleDateString('sv')

interface EditableProps {
  name: string
  /** The key that begins to edit it, on the task's own page. */
  hot?: string
  may: boolean
  type: 'date' | 'text' | 'number'
  hint?: string
  value: string
  onSave(text: string): void
  /** How it looks while no one edits it; nothing if it is empty. */
  children: ReactNode
}

function Editable({ name, hot, may, type, hint, value, onSave, children }: EditableProps) {
  if (value === '' && !may) return null
  return (
    <Property name={name}>
      <InlineEdit label={name} hot={hot} value={value} may={may} type={type} placeholder={hint} clears onSave={onSave}>
        {value === '' ? <span className="soft">{words.notSet}</span> : children}
      </InlineEdit>
    </Property>
  )
}

interface ChoiceProps {
  name: string
  hot: string
  may: boolean
  entries: readonly MenuEntry[]
  onChoose(value: string): void
  /** Someone is about to open the list. */
  onNear?(): void
  children: ReactNode
}

function Choice({ name, hot, may, entries, onChoose, onNear, children }: ChoiceProps) {
  if (!may) return <Property name={name}>{children}</Property>
  return (
    <div className="prop">
      <dt>{name}</dt>
      <dd>
        <LazyMenu
          trigger={
            <button type="button" data-key={hot} className="row tight" onPointerEnter={onNear} onFocus={onNear}>
              <span className="hide">{name}: </span>
              {children}
            </button>
          }
          entries={entries}
          onChoose={onChoose}
        />
      </dd>
    </div>
  )
}

function Assignee({ task, may, onChange }: Omit<Props, 'children'>) {
  const { team } = useRouteContext({ from: '/inside' })
  // Loaded when someone is about to open the list.
  const [enabled, setEnabled] = useState(false)
  const members = useQuery({ ...membersQuery(team.id), enabled }).data ?? []
  const agents = useQuery({ ...agentsQuery(team.id), enabled }).data ?? []
  const parties = [
    ...members.map(({ id, name }) => ({ type: 'user' as const, id, name })),
    ...agents.map(({ id, name }) => ({ type: 'agent' as const, id, name })),
  ]
  return (
    <Choice
      name={words.assignee}
      hot="a"
      may={may}
      onNear={() => setEnabled(true)}
      entries={[
        { value: '', label: words.nobody, chosen: task.assignee === null },
        ...parties.map((party) => ({
          value: party.id,
          label: party.name,
          glyph: <Avatar party={party} />,
          chosen: task.assignee?.id === party.id,
        })),
      ]}
      onChoose={(assignee) => onChange({ assignee: assignee === '' ? null : assignee })}
    >
      {task.assignee ? (
        <>
          <Avatar party={task.assignee} />
          {task.assignee.name}
        </>
      ) : (
        <span className="soft">{words.nobody}</span>
      )}
    </Choice>
  )
}
