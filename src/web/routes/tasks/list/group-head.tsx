/** The head of a group in the list: folds it, counts it, and adds a task to it. */
import { useQuery } from '@tanstack/react-query'
import { useRouteContext } from '@tanstack/react-router'
import { ChevronDown, ChevronRight, FolderKanban, Plus, Signpost } from 'lucide-react'
import type { TaskGroup } from '../../../../features/tasks/lists/list-schema.ts'
import type { Priority, Status } from '../../../../records/task-states.ts'
import type { UserOrAgent } from '../../../../records/user-or-agent.ts'
import { agentsQuery, membersQuery } from '../../../account/session.ts'
import { useClaimedTasks } from '../../../claimed-tasks.ts'
import { Avatar } from '../../../components/avatar.tsx'
import { PriorityGlyph, StatusGlyph } from '../../../components/glyphs.tsx'
import { priorityNames, statusNames } from '../../../words.ts'
import type { NewTaskValues } from '../../new-task/fields.ts'
import { LabelTag } from '../card.tsx'
import type { TaskGrouping } from '../search.ts'
import { words } from '../words.ts'

export interface GroupAdd {
  values: NewTaskValues
  /** The project of the group, on the page of all projects. */
  projectId?: string
}

interface Props {
  group: TaskGroup
  by: TaskGrouping
  open: boolean
  onToggle(): void
  onAdd: ((add: GroupAdd) => void) | undefined
}

export function GroupHead({ group, by, open, onToggle, onAdd }: Props) {
  const party = useParty(group, by)
  const name = groupName(group, by, party)
  const add = onAdd && valuesOf(group, by, party)
  const Chevron = open ? ChevronDown : ChevronRight
  return (
    <div className="grp">
      <button type="button" className="row grow" aria-expanded={open} onClick={onToggle}>
        <Chevron className="i s12" aria-hidden />
        {by === 'label' && group.value !== null ? (
          <LabelTag name={name} />
        ) : (
          <>
            <GroupGlyph group={group} by={by} party={party} />
            <span className="cut">{name}</span>
          </>
        )}
        <span className="n">{group.total}</span>
      </button>
      <span className="n t12">{useNote(group)}</span>
      {add && (
        <button type="button" className="ib s24" aria-label={words.newIn(name)} onClick={() => onAdd(add)}>
          <Plus className="i s14" aria-hidden />
        </button>
      )}
    </div>
  )
}

/** The person or agent of a group: as its first task has them, else from the lists of the team. */
function useParty({ value, items: [first] }: TaskGroup, by: TaskGrouping): UserOrAgent | undefined {
  const { team } = useRouteContext({ from: '/inside' })
  const known = by === 'assignee' ? first?.assignee : by === 'holder' ? first?.lease?.holder : undefined
  const isUnknown = (by === 'assignee' || by === 'holder') && value !== null && !known
  const member = useQuery({ ...membersQuery(team.id), enabled: isUnknown }).data?.find(({ id }) => id === value)
  const agent = useQuery({ ...agentsQuery(team.id), enabled: isUnknown }).data?.find(({ id }) => id === value)
  if (known) return known
  if (member) return { type: 'user', id: member.id, name: member.name }
  return agent && { type: 'agent', id: agent.id, name: agent.name }
}

export const useGroupName = (group: TaskGroup, by: TaskGrouping): string => groupName(group, by, useParty(group, by))

function groupName({ value, name }: TaskGroup, by: TaskGrouping, party: UserOrAgent | undefined): string {
  if (value === null) return words.noGroup[by as keyof typeof words.noGroup] ?? ''
  if (by === 'status') return statusNames[value as Status]
  if (by === 'priority') return priorityNames[value as Priority]
  return name ?? party?.name ?? value
}

function GroupGlyph({ group: { value }, by, party }: Pick<Props, 'group' | 'by'> & { party: UserOrAgent | undefined }) {
  if (value === null) return null
  if (by === 'status') return <StatusGlyph status={value as Status} />
  if (by === 'priority') return <PriorityGlyph priority={value as Priority} />
  if (by === 'epic') return <Signpost className="i s14" aria-hidden />
  if (by === 'project') return <FolderKanban className="i s14" aria-hidden />
  return party ? <Avatar party={party} /> : null
}

/** What in the group needs attention: stalled agents, and tasks that can be started. */
function useNote({ items, ready = 0 }: TaskGroup): string {
  const claimed = useClaimedTasks()
  const ids = new Set(items.map(({ id }) => id))
  const stalled = claimed?.filter(({ id, lease }) => lease?.stalled && ids.has(id)).length ?? 0
  return [stalled > 0 && words.stalled(stalled), ready > 0 && words.ready(ready)].filter(Boolean).join(' · ')
}

/** The values that a new task gets in this group; undefined if none can be added there. */
function valuesOf({ value }: TaskGroup, by: TaskGrouping, party: UserOrAgent | undefined): GroupAdd | undefined {
  if (value === null) return undefined
  if (by === 'status') return value === 'backlog' || value === 'todo' ? { values: { status: value } } : undefined
  if (by === 'priority') return { values: { priority: value as Priority } }
  if (by === 'assignee') return party && { values: { assignee: party } }
  if (by === 'label') return { values: { labels: [value] } }
  return by === 'project' ? { values: {}, projectId: value } : undefined
}
