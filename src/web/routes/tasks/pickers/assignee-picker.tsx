/** People and agents to assign. Agents show the tasks that they hold. */
import { useQuery } from '@tanstack/react-query'
import { useRouteContext } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { TaskItem } from '../../../../features/tasks/schema.ts'
import { agentsQuery, membersQuery } from '../../../account/session.ts'
import { useClaimedTasks } from '../../../claimed-tasks.ts'
import { Avatar } from '../../../components/avatar.tsx'
import type { PickerOption } from '../../../components/picker/options.tsx'
import { Picker } from '../../../components/picker/picker.tsx'
import { openTasksQuery } from '../queries.ts'
import type { FieldPickerProps } from './field.ts'
import { share, subjectOf } from './shares.ts'
import { words } from './words.ts'

const NO_ONE = ''

export function AssigneePicker({ items, onChange, ...place }: FieldPickerProps) {
  const { team, me } = useRouteContext({ from: '/inside' })
  const members = useQuery(membersQuery(team.id)).data
  const agents = useQuery(agentsQuery(team.id)).data
  const projects = new Set(items.map(({ projectId }) => projectId))
  const open = useQuery({ ...openTasksQuery([...projects][0] ?? ''), enabled: projects.size === 1 }).data
  const held = useClaimedTasks() ?? []
  const people = (members ?? []).toSorted((a, b) => Number(b.id === me.id) - Number(a.id === me.id))
  const option = (party: { type: 'user' | 'agent'; id: string; name: string }, note: ReactNode): PickerOption => ({
    value: party.id,
    label: party.name,
    keywords: party.id === me.id ? words.me : undefined,
    group: party.type === 'user' ? words.people : words.agents,
    glyph: <Avatar party={party} />,
    note,
    has: share(items, ({ assignee }) => assignee?.id === party.id),
  })
  const options = [
    { value: NO_ONE, label: words.noOne, has: share(items, ({ assignee }) => assignee === null) },
    ...people.map(({ id, name }) => option({ type: 'user', id, name }, <OpenTasks n={open?.get(id)} />)),
    ...(agents ?? [])
      .filter(({ status }) => status === 'active')
      .map(({ id, name }) =>
        option({ type: 'agent', id, name }, <HeldTasks list={held.filter(({ lease }) => lease?.holder.id === id)} />),
      ),
  ]
  return (
    <Picker
      {...place}
      action={words.actions.assignee}
      subject={subjectOf(items)}
      verb={words.verbs.assign}
      options={options}
      nothing={members && agents ? undefined : words.loading}
      onChoose={(id) =>
        onChange(
          { assignee: id === NO_ONE ? null : id },
          words.said.assignee(id === NO_ONE ? undefined : options.find(({ value }) => value === id)?.label),
        )
      }
    />
  )
}

const OpenTasks = ({ n }: { n: number | undefined }) =>
  n !== undefined && <span className="t12 soft">{words.open(n)}</span>

function HeldTasks({ list }: { list: readonly TaskItem[] }) {
  if (list.length === 0) return null
  if (list.every(({ lease }) => lease?.stalled)) return <span className="t12 warn">{words.stalled}</span>
  return <span className="t12 soft cut">{words.busy(list.map(({ key }) => key))}</span>
}
