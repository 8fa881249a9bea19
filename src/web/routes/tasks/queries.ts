import {
  type InfiniteData,
  infiniteQueryOptions,
  keepPreviousData,
  MutationObserver,
  type MutationObserverOptions,
  queryOptions,
  useMutation,
  useQueryClient,
} from '@tanstack/react-query'
import { useCallback, useRef, useState } from 'react'
import type { TaskGroups, TaskPage } from '../../../features/tasks/lists/list-schema.ts'
import type { TaskChanged, TaskCreate, TaskItem, TaskPatch } from '../../../features/tasks/schema.ts'
import type { Status } from '../../../records/task-states.ts'
import { ok, okUndoable, tasks, views, writeOptions } from '../../api.ts'
import { toast } from '../../components/toasts.tsx'
import { useWrite } from '../../lib/data.ts'
import { recordWrittenVersion, writeNext } from '../../live/written-versions.ts'
import { rememberUndo } from '../../undo.ts'
import { sendOrWait } from '../../waiting/send-or-wait.ts'
import { statusNames } from '../../words.ts'
import { type BoardGroup, type CardMove, mayChangeFlags, moveCard, replaceCard } from './moves.ts'
import { isManualOrder, type TaskSearch, taskFilters } from './search.ts'
import { shareGroups, shareList } from './structural-sharing.ts'
import { words } from './words.ts'

/** The scope of queries over all projects of the team; else it is the id of a project. */
export const ALL_PROJECTS = 'all'
export const inScope = (scope: string): { projectId?: string } => (scope === ALL_PROJECTS ? {} : { projectId: scope })

/** How many cards of a column are loaded at first, and with each "more". */
const COLUMN = 50
/** The server returns so many at once. */
const MOST_AT_ONCE = 200
/** A column goes on in the list beyond so many: with each change, all that is shown is loaded again. */
export const MOST_IN_COLUMN = 600

/** What cards and rows show besides the task. */
export const EXTRAS = 'flags,parts,frees'

/** How many cards of a column are shown, where it is more than at first. */
type ColumnDepths = Partial<Record<Status, number>>

async function loadGroups(
  projectId: string,
  search: TaskSearch,
  { older, ...page }: { limit: number; older: boolean; in?: Status; cursor?: string | undefined },
) {
  const filters = { projectId, ...taskFilters(search), ...(search.sort && { sort: search.sort }) }
  const query = { ...filters, ...page, with: EXTRAS, ...(!older && { doneAfter: startOfWeek() }) }
  return ((await ok(tasks.tasks.get({ query: { ...query, group: 'status' } }))) as TaskGroups).groups
}

/** Monday at midnight, where the reader is. */
function startOfWeek(): string {
  const day = new Date()
  day.setHours(0, 0, 0, 0)
  day.setDate(day.getDate() - ((day.getDay() + 6) % 7))
  return day.toISOString()
}

/** Returns the column with its next cards; one that has moved meanwhile is not there twice. */
function appendCards(group: BoardGroup, next: BoardGroup | undefined): BoardGroup {
  if (!next) return { ...group, nextCursor: null }
  const there = new Set(group.items.map(({ id }) => id))
  return { ...next, items: [...group.items, ...next.items.filter(({ id }) => !there.has(id))] }
}

/** Loads the next cards of a column. */
async function loadNextCards(projectId: string, search: TaskSearch, group: BoardGroup, limit: number) {
  const cursor = group.nextCursor ?? undefined
  const page = { limit, older: group.older === undefined, in: group.value, cursor }
  return (await loadGroups(projectId, search, page))[0]
}

/** `older`: with the tasks that were done before this week. */
export const boardQuery = (projectId: string, search: TaskSearch, depths: ColumnDepths = {}, older = false) =>
  queryOptions({
    queryKey: ['tasks', projectId, 'board', taskFilters(search), search.sort, depths, older],
    queryFn: async (): Promise<TaskGroups> => {
      const whole = async (first: BoardGroup) => {
        let group = first
        for (let left = depths[group.value] ?? 0; group.nextCursor && group.items.length < left; )
          group = appendCards(
            group,
            await loadNextCards(projectId, search, group, Math.min(MOST_AT_ONCE, left - group.items.length)),
          )
        return group
      }
      return { groups: await Promise.all((await loadGroups(projectId, search, { limit: COLUMN, older })).map(whole)) }
    },
    placeholderData: keepPreviousData,
    structuralSharing: (before, after) => shareGroups(before as TaskGroups | undefined, after as TaskGroups),
  })

/** Shows more cards of a column. Only these are loaded; what is there stays. */
export function useMoreCards(projectId: string, search: TaskSearch, older: boolean) {
  const cache = useQueryClient()
  const of = JSON.stringify([taskFilters(search), search.sort])
  const [more, setMore] = useState<{ of: string; depths: ColumnDepths }>({ of, depths: {} })
  const depths = more.of === of ? more.depths : {}
  const { mutate, isPending, isError } = useMutation({
    mutationFn: (group: BoardGroup) => loadNextCards(projectId, search, group, COLUMN),
    onSuccess: (page, { value }) => {
      const board = cache.getQueryData(boardQuery(projectId, search, depths, older).queryKey)
      if (!board) return
      const all = board.groups.map((group) => (group.value === value ? appendCards(group, page) : group))
      const deeper = { ...depths, [value]: all.find((group) => group.value === value)?.items.length }
      cache.setQueryData(boardQuery(projectId, search, deeper, older).queryKey, { groups: all })
      setMore({ of, depths: deeper })
    },
    onError: (error) => toast({ title: words.notLoaded, text: error.message, bad: true }),
  })
  return { depths, load: mutate, isLoading: isPending, isFailed: isError }
}

export const listQuery = (scope: string, search: TaskSearch) =>
  infiniteQueryOptions({
    queryKey: ['tasks', scope, 'list', taskFilters(search), search.sort],
    queryFn: async ({ pageParam }) =>
      (await ok(
        tasks.tasks.get({
          query: {
            ...taskFilters(search),
            ...inScope(scope),
            limit: 100,
            with: EXTRAS,
            sort: search.sort ?? 'updatedAt',
            ...(search.sort === 'position' && { order: 'asc' as const }),
            ...(pageParam ? { cursor: pageParam } : { total: true }),
          },
        }),
      )) as TaskPage,
    initialPageParam: '',
    getNextPageParam: (page) => page.nextCursor,
    structuralSharing: (before, after) =>
      shareList(before as InfiniteData<TaskPage> | undefined, after as InfiniteData<TaskPage>),
  })

export const graphQuery = (projectId: string, slug: string, search: TaskSearch) =>
  queryOptions({
    queryKey: ['tasks', projectId, 'graph', taskFilters(search)],
    queryFn: () => ok(tasks.projects({ slug }).graph.get({ query: taskFilters(search) })),
    placeholderData: keepPreviousData,
  })

/** What the filters can choose from: labels in use, and epics. */
export const taskCountsQuery = (scope: string, by: 'label' | 'epic') =>
  queryOptions({
    queryKey: ['tasks', scope, 'counts', by],
    queryFn: async () => (await ok(tasks.tasks.counts.get({ query: { ...inScope(scope), by } }))).counts,
  })

/** How many open tasks each person and agent has, by id. */
export const openTasksQuery = (scope: string) =>
  queryOptions({
    queryKey: ['tasks', scope, 'counts', 'assignee'],
    queryFn: async () => {
      const { counts } = await ok(tasks.tasks.counts.get({ query: { ...inScope(scope), by: 'assignee', open: true } }))
      return new Map(counts.map(({ value, n }) => [value, n]))
    },
    // A map is a new one each time.
    structuralSharing: false,
  })

/** The saved views of a project, or of the page of all projects. */
export const viewsQuery = (scope: string) =>
  queryOptions({
    queryKey: ['views', scope],
    queryFn: async () => {
      const { items } = await ok(views.views.get({ query: { ...inScope(scope), page: 'tasks', limit: 200 } }))
      return scope === ALL_PROJECTS ? items.filter(({ projectId }) => projectId === null) : items
    },
  })

export const useViewChange = (scope: string) =>
  useWrite(
    async (act: { save: { name: string; query: string; shared: boolean } } | { remove: string }) => {
      if ('remove' in act) await ok(views.views({ id: act.remove }).delete({}, writeOptions()))
      else await ok(views.views.post({ ...act.save, ...inScope(scope) }, writeOptions()))
    },
    ['views', scope],
  )

type Moved = Awaited<ReturnType<typeof okUndoable<TaskChanged>>> | undefined

function sendMove({ task, status, after }: CardMove, shown: () => number) {
  const place = after === undefined ? {} : { after: after?.key ?? null }
  const patch: TaskPatch = { ...(status !== task.status && { status }), ...place }
  const one = tasks.tasks({ id: task.id })
  return sendOrWait(
    (attempt) =>
      writeNext(task.id, shown, (version) => {
        attempt.sentVersion = version
        return okUndoable(one.patch(patch, writeOptions(version, attempt.key)))
      }),
    (code, attempt) => code.editTasks({ tasks: [task], patch }, attempt),
  )
}

/**
 * Moves a card at once, and puts it back if the server refuses. The board takes what the server returns, and is loaded
 * again only if more than that card may have changed.
 */
export function useMoveCard(
  projectId: string,
  search: TaskSearch,
  { queryKey }: ReturnType<typeof boardQuery>,
  refused: (move: CardMove, error: Error) => void,
) {
  const cache = useQueryClient()
  const mutationKey = ['move', projectId]
  const isStale = useRef(false)
  const versionOf = ({ id, version }: Pick<TaskItem, 'id' | 'version'>): number => {
    const shown = cache.getQueryData(queryKey)?.groups.flatMap(({ items }) => items)
    return shown?.find((item) => item.id === id)?.version ?? version
  }
  const options: MutationObserverOptions<Moved, Error, CardMove, { before: TaskGroups | undefined }> = {
    // One after the other, each with the version that the one before returned: two quick moves are no conflict.
    mutationKey,
    scope: { id: `move ${projectId}` },
    mutationFn: (move: CardMove) => sendMove(move, () => versionOf(move.task)),
    onSuccess: (sent, { task, status }) => {
      if (!sent) return
      const { changeId } = sent
      const { freed, blocked, ...answer } = sent.data
      cache.setQueryData(queryKey, (board) => board && replaceCard(board, answer))
      const mayDiffer = !isManualOrder(search) || freed.length + blocked.length > 0
      if (mayDiffer || mayChangeFlags(task, status)) isStale.current = true
      if (task.lease || answer.lease) void cache.invalidateQueries({ queryKey: ['at work'] })
      if (changeId) rememberUndo(words.moved(task.key, statusNames[status]), changeId)
    },
    onMutate: async (move: CardMove) => {
      // What is being loaded may be without this move, and is asked for once more after it.
      if (cache.isFetching({ queryKey, exact: true }) > 0) isStale.current = true
      await cache.cancelQueries({ queryKey })
      const before = cache.getQueryData(queryKey)
      const updatedAt = cache.getQueryState(queryKey)?.dataUpdatedAt
      if (before) cache.setQueryData(queryKey, moveCard(before, move), { updatedAt })
      return { before }
    },
    onError: (error, move, context) => {
      isStale.current = true
      if (context?.before) cache.setQueryData(queryKey, context.before)
      refused(move, error)
    },
    onSettled: (sent, error, { task }) => {
      if (!sent && !error) return undefined
      void cache.invalidateQueries({ queryKey: ['task', task.key] })
      if (cache.isMutating({ mutationKey }) > 1) return undefined
      const isWhole = isStale.current
      isStale.current = false
      return cache.invalidateQueries({
        queryKey: ['tasks', projectId],
        predicate: (query) => isWhole || query.queryKey[2] !== 'board' || !query.isActive(),
      })
    },
  }
  // Nothing is drawn by the state of a move, so no one follows it.
  const [observer] = useState(() => new MutationObserver(cache, options))
  observer.setOptions(options)
  return useCallback((move: CardMove) => void observer.mutate(move).catch(() => undefined), [observer])
}

export function useCreateTask(projectId: string, slug: string) {
  const cache = useQueryClient()
  return useMutation({
    mutationFn: ({ key, ...task }: TaskCreate & { key: string }) =>
      ok(tasks.projects({ slug }).tasks.post(task, writeOptions(undefined, key))),
    onSuccess: ({ id, version }) => recordWrittenVersion(id, version),
    onSettled: () =>
      Promise.all([projectId, ALL_PROJECTS].map((scope) => cache.invalidateQueries({ queryKey: ['tasks', scope] }))),
  })
}
