/** A list in groups: the first tasks of each, and more of one when its end comes near or it is unfolded. */
import { keepPreviousData, queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { GroupedTasks, TaskGroup } from '../../../../features/tasks/lists/list-schema.ts'
import type { TaskItem } from '../../../../features/tasks/schema.ts'
import { ok, tasks } from '../../../api.ts'
import { toast } from '../../../components/toasts.tsx'
import { EXTRAS, inScope } from '../queries.ts'
import { groupingOf, parseFilter, type TaskSearch, taskFilters } from '../search.ts'
import { shareGroups } from '../structural-sharing.ts'
import { words } from '../words.ts'

/** How many tasks of each group are loaded at first, and with each "more". */
const [FIRST, NEXT] = [25, 100]
/** The server returns so many at once. */
const MOST_AT_ONCE = 200

/** The key of a group among the others; a group without a value has an empty one. */
export const groupKey = ({ value }: Pick<TaskGroup, 'value'>): string => value ?? ''

/** How many tasks of a group are shown, where it is more than at first. */
type GroupDepths = Readonly<Record<string, number>>

/** States that are folded at first, unless the filter asks for them. */
export function foldedStates(search: TaskSearch): string[] {
  if (groupingOf(search) !== 'status') return []
  const { values, isNot } = parseFilter(search.status)
  return ['done', 'cancelled'].filter((status) => search.status === undefined || values.includes(status) === isNot)
}

async function loadGroups(scope: string, search: TaskSearch, page: { limit: number; in?: string; cursor?: string }) {
  const folded = foldedStates(search).join(',')
  const { sort } = search
  return (await ok(
    tasks.tasks.get({
      query: {
        ...taskFilters(search),
        ...inScope(scope),
        group: groupingOf(search),
        ...(sort && { sort }),
        ...(page.in === undefined && { total: true, countReady: true, ...(folded && { folded }) }),
        ...page,
        with: EXTRAS,
      },
    }),
  )) as GroupedTasks
}

/** Returns the group with its next tasks; one that has moved meanwhile is not there twice. */
function appendTasks(group: TaskGroup, next: TaskGroup | undefined): TaskGroup {
  const there = new Set(group.items.map(({ id }) => id))
  const items = [...group.items, ...(next?.items.filter(({ id }) => !there.has(id)) ?? [])]
  const nextCursor = next?.nextCursor ?? null
  return { ...group, total: next && nextCursor ? next.total : items.length, items, nextCursor }
}

const loadNext = async (scope: string, search: TaskSearch, group: TaskGroup, limit: number) =>
  (
    await loadGroups(scope, search, {
      limit,
      in: groupKey(group),
      ...(group.nextCursor && { cursor: group.nextCursor }),
    })
  ).groups[0]

export const groupsQuery = (scope: string, search: TaskSearch, depths: GroupDepths = {}) =>
  queryOptions({
    queryKey: ['tasks', scope, 'groups', groupingOf(search), taskFilters(search), search.sort, depths],
    queryFn: async (): Promise<GroupedTasks> => {
      const { groups, total } = await loadGroups(scope, search, { limit: FIRST })
      const loadDeeper = async (first: TaskGroup) => {
        let group = first
        const wanted = Math.min(depths[groupKey(first)] ?? 0, first.total)
        while (group.items.length < wanted) {
          const next = await loadNext(scope, search, group, Math.min(MOST_AT_ONCE, wanted - group.items.length))
          group = appendTasks(group, next)
          if (!group.nextCursor) break
        }
        return group
      }
      return { groups: await Promise.all(groups.map(loadDeeper)), ...(total !== undefined && { total }) }
    },
    placeholderData: keepPreviousData,
    structuralSharing: (before, after) => shareGroups(before as GroupedTasks | undefined, after as GroupedTasks),
  })

/** Shows more tasks of a group. Only these are loaded; what is there stays. */
export function useMoreTasks(scope: string, search: TaskSearch) {
  const cache = useQueryClient()
  const of = JSON.stringify([scope, groupingOf(search), taskFilters(search), search.sort])
  const [more, setMore] = useState<{ of: string; depths: GroupDepths }>({ of, depths: {} })
  const depths = more.of === of ? more.depths : {}
  const { mutate, isPending, isError } = useMutation({
    mutationFn: (group: TaskGroup) => loadNext(scope, search, group, NEXT),
    onSuccess: (page, group) => {
      const known = cache.getQueryData(groupsQuery(scope, search, depths).queryKey)
      if (!known) return
      const key = groupKey(group)
      const groups = known.groups.map((one) => (groupKey(one) === key ? appendTasks(one, page) : one))
      const deeper = { ...depths, [key]: groups.find((one) => groupKey(one) === key)?.items.length ?? 0 }
      cache.setQueryData(groupsQuery(scope, search, deeper).queryKey, { ...known, groups })
      setMore({ of, depths: deeper })
    },
    onError: (error) => toast({ title: words.notLoaded, text: error.message, bad: true }),
  })
  return { depths, load: mutate, isLoading: isPending, isFailed: isError }
}

/** The groups with each task changed where it stands. */
export const changeInGroups = (data: GroupedTasks, change: (task: TaskItem) => TaskItem): GroupedTasks => ({
  ...data,
  groups: data.groups.map((group) => ({ ...group, items: group.items.map(change) })),
})
