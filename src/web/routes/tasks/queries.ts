import {
  infiniteQueryOptions,
  keepPreviousData,
  type QueryClient,
  queryOptions,
  useMutation,
  useQueryClient,
} from '@tanstack/react-query'
import type { TaskGroups, TaskPage } from '../../../features/tasks/list-schema.ts'
import type { ChangeMany } from '../../../features/tasks/many-schema.ts'
import type { TaskItem, TaskPatch } from '../../../features/tasks/schema.ts'
import type { Status } from '../../../records/work.ts'
import { change, ok, tasks, views } from '../../api.ts'
import { rememberUndo } from '../../undo.ts'
import { statusNames } from '../../words.ts'
import { filtersOf, type TaskSearch } from './search.ts'
import { words } from './words.ts'

/** How many cards of a column are loaded at first, and with each "more". */
export const COLUMN = 50
export const MOST_IN_COLUMN = 200

export const boardQuery = (projectId: string, search: TaskSearch, limit = COLUMN) =>
  queryOptions({
    queryKey: ['tasks', projectId, 'board', filtersOf(search), search.sort, limit],
    queryFn: async () =>
      (await ok(
        tasks.tasks.get({
          query: { projectId, ...filtersOf(search), limit, group: 'status', ...(search.sort && { sort: search.sort }) },
        }),
      )) as TaskGroups,
    placeholderData: keepPreviousData,
  })

export const listQuery = (projectId: string, search: TaskSearch) =>
  infiniteQueryOptions({
    queryKey: ['tasks', projectId, 'list', filtersOf(search), search.sort],
    queryFn: async ({ pageParam }) =>
      (await ok(
        tasks.tasks.get({
          query: {
            projectId,
            ...filtersOf(search),
            limit: 100,
            sort: search.sort ?? 'updatedAt',
            ...(pageParam ? { cursor: pageParam } : { total: true }),
          },
        }),
      )) as TaskPage,
    initialPageParam: '',
    getNextPageParam: (page) => page.nextCursor,
  })

export const graphQuery = (projectId: string, slug: string) =>
  queryOptions({
    queryKey: ['tasks', projectId, 'graph'],
    queryFn: () => ok(tasks.projects({ slug }).graph.get({ query: {} })),
  })

/** What the filters can choose from: labels in use, and epics. */
export const countsQuery = (projectId: string, by: 'label' | 'epic') =>
  queryOptions({
    queryKey: ['tasks', projectId, 'counts', by],
    queryFn: async () => (await ok(tasks.tasks.counts.get({ query: { projectId, by } }))).counts,
  })

export const viewsQuery = (projectId: string) =>
  queryOptions({
    queryKey: ['views', projectId],
    queryFn: async () => (await ok(views.views.get({ query: { projectId, page: 'tasks', limit: 200 } }))).items,
  })

export function useViewChange(projectId: string) {
  const cache = useQueryClient()
  return useMutation({
    mutationFn: async (act: { save: { name: string; query: string; shared: boolean } } | { remove: string }) => {
      if ('remove' in act) await ok(views.views({ id: act.remove }).delete({}, change()))
      else await ok(views.views.post({ ...act.save, projectId }, change()))
    },
    onSettled: () => cache.invalidateQueries({ queryKey: ['views', projectId] }),
  })
}

export interface Move {
  task: TaskItem
  status: Status
  /** The card above its new place; null: first in the column. */
  after: TaskItem | null
}

/** The board as it will be after the move. */
export function moved(board: TaskGroups, { task, status, after }: Move): TaskGroups {
  const groups = board.groups.map((group) => {
    const had = group.items.some(({ id }) => id === task.id)
    const items = group.items.filter(({ id }) => id !== task.id)
    if (group.value === status) {
      const place = after ? items.findIndex(({ id }) => id === after.id) + 1 : 0
      items.splice(place, 0, { ...task, status })
    }
    return { ...group, items, total: group.total + Number(group.value === status) - Number(had) }
  })
  return { groups }
}

const atVersion = (board: TaskGroups, id: string, version: number): TaskGroups => ({
  groups: board.groups.map((group) => ({
    ...group,
    items: group.items.map((task) => (task.id === id ? { ...task, version } : task)),
  })),
})

/** Returns the change that puts a card where it is on this board. */
function placeOf(board: TaskGroups, { id, status }: TaskItem): TaskPatch {
  const items = board.groups.find(({ value }) => value === status)?.items ?? []
  return { status, after: items[items.findIndex((item) => item.id === id) - 1]?.key ?? null }
}

/** Moves a card at once, and puts it back if the server refuses. */
export function useMove(
  projectId: string,
  { queryKey }: ReturnType<typeof boardQuery>,
  refused: (move: Move, error: Error) => void,
) {
  const cache = useQueryClient()
  const mutationKey = ['move', projectId]
  const versionOf = ({ id, version }: Pick<TaskItem, 'id' | 'version'>): number => {
    const shown = cache.getQueryData(queryKey)?.groups.flatMap(({ items }) => items)
    return shown?.find((item) => item.id === id)?.version ?? version
  }
  return useMutation({
    // One after the other, each with the version that the one before returned: two quick moves are no conflict.
    mutationKey,
    scope: { id: `move ${projectId}` },
    mutationFn: ({ task, status, after }: Move) => {
      const patch: TaskPatch = { ...(status !== task.status && { status }), after: after?.key ?? null }
      return ok(tasks.tasks({ id: task.id }).patch(patch, change(versionOf(task))))
    },
    onSuccess: ({ id, version }, { task, status }, { before }) => {
      cache.setQueryData(queryKey, (board) => board && atVersion(board, id, version))
      if (!before) return
      const back = placeOf(before, task)
      rememberUndo(words.moved(task.key, statusNames[status]), async () => {
        await ok(tasks.tasks({ id }).patch(back, change(versionOf({ id, version }))))
        await cache.invalidateQueries({ queryKey: ['tasks', projectId] })
      })
    },
    onMutate: async (move: Move) => {
      await cache.cancelQueries({ queryKey })
      const before = cache.getQueryData(queryKey)
      if (before) cache.setQueryData(queryKey, moved(before, move))
      return { before }
    },
    onError: (error, move, context) => {
      if (context?.before) cache.setQueryData(queryKey, context.before)
      refused(move, error)
    },
    onSettled: () =>
      cache.isMutating({ mutationKey }) > 1 ? undefined : cache.invalidateQueries({ queryKey: ['tasks', projectId] }),
  })
}

export function useCreate(projectId: string, slug: string) {
  const cache = useQueryClient()
  return useMutation({
    mutationFn: ({ key, ...task }: { title: string; status: 'backlog' | 'todo'; key: string }) =>
      ok(tasks.projects({ slug }).tasks.post(task, change(undefined, key))),
    onSettled: () => cache.invalidateQueries({ queryKey: ['tasks', projectId] }),
  })
}

export type Change = ChangeMany['change']
interface Batch {
  items: readonly TaskItem[]
  change: Change
}

/** The server changes so many in one call. */
const MOST_AT_ONCE = 200

/** Makes one change to several tasks: shown at once where the page knows how it will look. */
export function useBatch(projectId: string, told: (changed: number, problems: string[]) => void) {
  const cache = useQueryClient()
  return useMutation({
    mutationFn: async ({ items, change: wanted }: Batch) => {
      const results = []
      for (let from = 0; from < items.length; from += MOST_AT_ONCE) {
        const some = items.slice(from, from + MOST_AT_ONCE).map(({ id, version }) => ({ id, ifMatch: version }))
        results.push(...(await ok(tasks.tasks.batch.post({ tasks: some, change: wanted }, change()))).items)
      }
      return results
    },
    onMutate: async ({ items, change: wanted }) => {
      await cache.cancelQueries({ queryKey: ['tasks', projectId] })
      showAtOnce(cache, projectId, new Set(items.map(({ id }) => id)), wanted)
    },
    onSuccess: (items) =>
      told(
        items.filter(({ task }) => task).length,
        items.flatMap(({ problem }) => (problem ? [problem.detail] : [])),
      ),
    onError: (error) => told(0, [error.message]),
    onSettled: () => cache.invalidateQueries({ queryKey: ['tasks', projectId] }),
  })
}

function showAtOnce(cache: QueryClient, projectId: string, ids: ReadonlySet<string>, wanted: Change): void {
  const { status, priority, dueAt, addLabels = [], removeLabels = [] } = wanted
  const after = (task: TaskItem): TaskItem => ({
    ...task,
    ...(status && { status }),
    ...(priority && { priority }),
    ...(dueAt !== undefined && { dueAt }),
    labels: [...new Set([...task.labels, ...addLabels])].filter((label) => !removeLabels.includes(label)),
  })
  const change = (task: TaskItem) => (ids.has(task.id) ? after(task) : task)
  cache.setQueriesData<TaskGroups>({ queryKey: ['tasks', projectId, 'board'] }, (board) => {
    if (!board) return board
    const chosen = board.groups.flatMap(({ items }) => items).filter(({ id }) => ids.has(id))
    const still: TaskGroups = { groups: board.groups.map((group) => ({ ...group, items: group.items.map(change) })) }
    if (!status) return still
    return chosen.reduce((next, task) => {
      const last = next.groups.find(({ value }) => value === status)?.items.filter(({ id }) => id !== task.id)
      return moved(next, { task: after(task), status, after: last?.at(-1) ?? null })
    }, still)
  })
  cache.setQueriesData<{ pages: TaskPage[]; pageParams: unknown[] }>(
    { queryKey: ['tasks', projectId, 'list'] },
    (data) => data && { ...data, pages: data.pages.map((page) => ({ ...page, items: page.items.map(change) })) },
  )
}
