/** An edit conflict of a task: shows both values, and lets the reader choose. */
import { useQuery } from '@tanstack/react-query'
import { useRouteContext } from '@tanstack/react-router'
import { TriangleAlert } from 'lucide-react'
import type { TaskPatch } from '../../../features/tasks/schema.ts'
import { agentsQuery, membersQuery } from '../../account/session.ts'
import { dayAndTime } from '../../lib/times.ts'
import { priorityNames, statusNames } from '../../words.ts'
import { type EditConflict, inTask } from './edit-conflict.ts'
import { words } from './words.ts'

const isName = (names: Readonly<Record<string, string>>, value: unknown): value is string =>
  typeof value === 'string' && value in names

function textOf(field: string, value: unknown, nameOf: (id: string) => string): string {
  if (value === null || value === undefined || value === '') return words.notSet
  if (field === 'status' && isName(statusNames, value)) return statusNames[value as keyof typeof statusNames]
  if (field === 'priority' && isName(priorityNames, value)) return priorityNames[value as keyof typeof priorityNames]
  if (field === 'dueAt') return dayAndTime(String(value))
  if (Array.isArray(value)) return value.map((one) => textOf('', one, nameOf)).join('\n')
  if (typeof value === 'object') {
    const { text, done, name } = value as { text?: string; done?: boolean; name?: string }
    return text === undefined ? (name ?? '') : `${done ? '☑' : '☐'} ${text}`
  }
  return nameOf(String(value))
}

const Lines = ({ text }: { text: string }) =>
  [...new Set(text.split('\n'))].map((line) => (
    <p key={line} className="t13">
      {line}
    </p>
  ))

interface Props {
  met: EditConflict
  onMine(patch: TaskPatch): void
  onTheirs(): void
}

export function EditConflictBox({ met: { patch, fields, theirs }, onMine, onTheirs }: Props) {
  const { team } = useRouteContext({ from: '/inside' })
  const members = useQuery(membersQuery(team.id)).data ?? []
  const agents = useQuery(agentsQuery(team.id)).data ?? []
  const names = new Map([
    ...[...members, ...agents].map(({ id, name }) => [id, name] as const),
    ...theirs.waitsFor.map(({ id, key }) => [id, key] as const),
  ])
  const nameOf = (id: string) => names.get(id) ?? id
  return (
    <div className="problem" role="alert" aria-label={words.met}>
      <TriangleAlert className="i" aria-hidden />
      <div className="grow stack">
        <b className="b6">{words.metBoth}</b>
        {fields.map((field) => (
          <div key={field} className="two">
            <div>
              <p className="h3">{words.theirs}</p>
              <Lines text={textOf(field, inTask(theirs, field), nameOf)} />
            </div>
            <div>
              <p className="h3">{words.yours}</p>
              <Lines text={textOf(field, patch[field as keyof TaskPatch], nameOf)} />
            </div>
          </div>
        ))}
        <span className="row wrap">
          <button type="button" className="btn small main" onClick={() => onMine(patch)}>
            {words.writeMine}
          </button>
          <button type="button" className="btn small" onClick={onTheirs}>
            {words.keepTheirs}
          </button>
        </span>
      </div>
    </div>
  )
}
