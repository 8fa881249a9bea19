/** The tasks in groups, each with a head that folds it. */
import { useQuery } from '@tanstack/react-query'
import { useCallback, useEffect, useMemo, useState } from 'react'
import type { TaskGroup } from '../../../../features/tasks/lists/list-schema.ts'
import { ProblemBox } from '../../../components/states.tsx'
import { AddTasks } from '../add/add-tasks.tsx'
import { groupValues } from '../add/values.ts'
import { ALL_PROJECTS } from '../queries.ts'
import { groupingOf, isUnfiltered, type TaskSearch } from '../search.ts'
import { words } from '../words.ts'
import { type GroupAdd, GroupHead, useGroupName } from './group-head.tsx'
import { foldedStates, groupKey, groupsQuery, useMoreTasks } from './group-queries.ts'
import { ListLoading, NoneMatch, type TaskListProps, useMatching } from './list.tsx'
import { type GroupLine, type ListLine, TaskRows, useTaskRows } from './rows.tsx'

interface Props extends TaskListProps {
  onAdd(add: GroupAdd): void
}

/** Active work comes first, closed work last. */
const stateOrder = ['in_progress', 'in_review', 'blocked', 'todo', 'backlog', 'done', 'cancelled']

export function GroupedList({ scope, search, may, onOpen, onClear, onTotal, nothing, bar, onAdd }: Props) {
  const more = useMoreTasks(scope, search)
  const { data, error, isPlaceholderData } = useQuery(groupsQuery(scope, search, more.depths))
  const { isOpen, toggle } = useFolds(search)
  const groups = useMemo(() => shownGroups(data?.groups ?? [], search), [data, search])
  const by = groupingOf(search)
  const isAddable = useCallback(
    (group: TaskGroup) => may && addTarget(group, scope, search) !== undefined,
    [may, scope, search],
  )
  const lines = useMemo(
    () => groups.flatMap((group) => linesOf(group, isOpen(group), isAddable(group))),
    [groups, isOpen, isAddable],
  )
  // What is shown until the answer comes is of another query: its cursors do not fit this one.
  const load = more.isLoading || isPlaceholderData ? undefined : more.load
  const fold = (group: TaskGroup) => {
    if (!isOpen(group) && group.items.length === 0) load?.(group)
    toggle(group)
  }
  const total = data?.total
  const view = useTaskRows(lines, useMatching(scope, search, total), search.open)
  useNearEnd(view, lines, more.isFailed ? undefined : load)
  useEffect(() => onTotal(total), [onTotal, total])
  if (error && !data) return <ProblemBox error={error} />
  if (!data) return <ListLoading />
  if (groups.length === 0) return isUnfiltered(search) ? nothing : <NoneMatch onClear={onClear} />
  return (
    <>
      <TaskRows
        lines={lines}
        view={view}
        search={search}
        may={may}
        onOpen={onOpen}
        groupLine={({ key, group, part }) => {
          if (part === 'more') return <More group={group} onMore={load} />
          if (part === 'add')
            return <AddLine {...{ group, scope, search }} onOpen={(open) => keepLine(view, open ? key : undefined)} />
          return (
            <GroupHead
              group={group}
              by={by}
              open={isOpen(group)}
              onToggle={() => fold(group)}
              onAdd={may && (scope !== ALL_PROJECTS || by === 'project') ? onAdd : undefined}
            />
          )
        }}
      />
      {bar(view.selection)}
    </>
  )
}

function linesOf(group: TaskGroup, open: boolean, adds: boolean): ListLine[] {
  const key = groupKey(group)
  const line = (part: GroupLine['part']): GroupLine => ({ key: `${part} ${key}`, group, part })
  if (!open) return [line('head')]
  const rows = group.items.map((task) => ({ key: `${key} ${task.id}`, task }))
  const isCut = rows.length < group.total
  return [line('head'), ...rows, ...(isCut ? [line('more')] : []), ...(adds ? [line('add')] : [])]
}

/** Where a task is added at the end of a group, and with which values; undefined if none can be added there. */
function addTarget(group: TaskGroup, scope: string, search: TaskSearch) {
  const by = groupingOf(search)
  const values = groupValues(group, by)
  const project = by === 'project' ? group.value : scope === ALL_PROJECTS ? search.project : scope
  return values && project ? { project, values } : undefined
}

const keepLine = ({ kept }: ReturnType<typeof useTaskRows>, key: string | undefined): void => {
  kept.current = key
}

interface AddLineProps {
  group: TaskGroup
  scope: string
  search: TaskSearch
  onOpen(open: boolean): void
}

function AddLine({ group, scope, search, onOpen }: AddLineProps) {
  const name = useGroupName(group, groupingOf(search))
  const target = addTarget(group, scope, search)
  if (!target) return null
  return (
    <div className="addline">
      <AddTasks {...target} name={name} search={search} above={group.items.length} onOpen={onOpen} />
    </div>
  )
}

function shownGroups(groups: readonly TaskGroup[], search: TaskSearch): TaskGroup[] {
  const shown = groups.filter(({ total }) => total > 0)
  if (groupingOf(search) !== 'status') return shown
  const rank = ({ value }: TaskGroup) => stateOrder.indexOf(value ?? '')
  return shown.toSorted((a, b) => rank(a) - rank(b))
}

/** Which groups are unfolded: all but closed states, and what the reader has changed since. */
function useFolds(search: TaskSearch) {
  const by = groupingOf(search)
  const [changed, setChanged] = useState<{ by: string; keys: ReadonlySet<string> }>({ by, keys: new Set() })
  const keys = changed.by === by ? changed.keys : noKeys
  const folded = foldedStates(search).join(',')
  const isOpen = useCallback(
    (group: TaskGroup) => folded.split(',').includes(groupKey(group)) === keys.has(groupKey(group)),
    [folded, keys],
  )
  const toggle = (group: TaskGroup) => {
    const next = new Set(keys)
    if (!next.delete(groupKey(group))) next.add(groupKey(group))
    setChanged({ by, keys: next })
  }
  return { isOpen, toggle }
}

const noKeys: ReadonlySet<string> = new Set()

/** How many lines below the screen the end of a group may be when more of it is loaded. */
const LOADED_AHEAD = 20

/** Loads more of a group when its end is on screen, or nearly; before the first scrolling, only if it is on screen. */
function useNearEnd(
  { first, last }: { first: number; last: number },
  lines: readonly ListLine[],
  load: ((group: TaskGroup) => void) | undefined,
): void {
  const end = lines
    .slice(first, last + (first > 0 ? LOADED_AHEAD : 1))
    .find((line) => !line.task && line.part === 'more')
  const group = end && !end.task ? end.group : undefined
  useEffect(() => {
    if (group) load?.(group)
  }, [group, load])
}

const More = ({ group, onMore }: { group: TaskGroup; onMore: ((group: TaskGroup) => void) | undefined }) => (
  <div className="li more">
    <button type="button" className="btn quiet small" disabled={!onMore} onClick={() => onMore?.(group)}>
      {words.more(group.total - group.items.length)}
    </button>
  </div>
)
