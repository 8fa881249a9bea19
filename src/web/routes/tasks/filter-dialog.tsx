/** All filters of the page. Each choice shows at once in the address and in what is listed. */
import { useQuery } from '@tanstack/react-query'
import { useRouteContext } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { agentsQuery, membersQuery } from '../../account/session.ts'
import { Dialog } from '../../components/form/dialog.tsx'
import { Field, optionsOf } from '../../components/form/fields.tsx'
import { priorityNames, statusNames } from '../../words.ts'
import { taskCountsQuery } from './queries.ts'
import { listParts, type TaskSearch, toggleInList } from './search.ts'
import { words } from './words.ts'

interface Props {
  projectId: string
  search: TaskSearch
  onChange(change: Partial<TaskSearch>): void
  onClose(): void
}

export default function FilterDialog({ projectId, search, onChange, onClose }: Props) {
  const { team } = useRouteContext({ from: '/inside' })
  const members = useQuery(membersQuery(team.id)).data ?? []
  const agents = useQuery(agentsQuery(team.id)).data ?? []
  const labels = useQuery(taskCountsQuery(projectId, 'label')).data ?? []
  const epics = useQuery(taskCountsQuery(projectId, 'epic')).data ?? []
  const parties = [
    { value: 'me', label: words.me },
    ...[...members, ...agents].map(({ id, name }) => ({ value: id, label: name })),
  ]
  const several = (name: 'status' | 'priority' | 'label' | 'assignee' | 'holder', entries: Entry[]) => (
    <Group
      title={words.filters[name]}
      entries={entries}
      chosen={listParts(search[name])}
      onToggle={(value) => onChange({ [name]: toggleInList(search[name], value) })}
    />
  )
  return (
    <Dialog title={words.filter} open onClose={onClose}>
      <div className="stack s4 filters">
        {several('status', optionsOf(statusNames))}
        {several('priority', optionsOf(priorityNames))}
        {several('assignee', [{ value: 'none', label: words.nobody }, ...parties])}
        {several('holder', parties)}
        <Group
          title={words.filters.leased}
          entries={optionsOf(words.leased)}
          chosen={search.leased === undefined ? [] : [String(search.leased)]}
          onToggle={(value) => onChange({ leased: String(search.leased) === value ? undefined : value === 'true' })}
        />
        {labels.length > 0 &&
          several(
            'label',
            labels.slice(0, 40).map(({ value, n }) => ({ value: value ?? '', label: `${value} ${n}` })),
          )}
        {epics.some(({ value }) => value) && (
          <Group
            title={words.filters.epic}
            entries={epics.flatMap(({ value, name, n }) => (value ? [{ value, label: `${name} ${n}` }] : []))}
            chosen={search.epic ? [search.epic] : []}
            onToggle={(value) => onChange({ epic: search.epic === value ? undefined : value })}
          />
        )}
        <div className="row wrap">
          {(['dueAfter', 'dueBefore'] as const).map((name) => (
            <Field
              key={name}
              label={words.filters[name]}
              grow
              type="date"
              value={search[name] ?? ''}
              onText={(day) => onChange({ [name]: day || undefined })}
            />
          ))}
        </div>
      </div>
    </Dialog>
  )
}

interface Entry {
  value: string
  label: ReactNode
}

interface GroupProps {
  title: string
  entries: readonly Entry[]
  chosen: readonly string[]
  onToggle(value: string): void
}

const Group = ({ title, entries, chosen, onToggle }: GroupProps) => (
  <fieldset>
    <legend className="h3">{title}</legend>
    <div className="row tight wrap">
      {entries.map(({ value, label }) => (
        <button
          key={value}
          type="button"
          className="chip"
          aria-pressed={chosen.includes(value)}
          onClick={() => onToggle(value)}
        >
          {label}
        </button>
      ))}
    </div>
  </fieldset>
)
