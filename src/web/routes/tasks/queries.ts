import { infiniteQueryOptions, queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import type { TaskGroups, TaskPage } from '../../../features/tasks/list-schema.ts'
import type { TaskItem, TaskPatch } from '../../../features/tasks/schema.ts'
import type { Status } from '../../../records/work.ts'
import { change, ok, tasks } from '../../api.ts'
import { filtersOf, type TaskSearch } from './search.ts'

type Filters = ReturnType<typeof filtersOf>

/** How many cards of a column are loaded at first. */
const COLUMN = 50

export const boardQuery = (projectId: string, search: TaskSearch) =>
  queryOptions({
    queryKey: ['tasks', projectId, 'board', filtersOf(search)],
    queryFn: () => groups({ projectId, ...filtersOf(search), limit: COLUMN }),
  })

async function groups(query: Filters & { projectId: string; limit: number; status?: Status; cursor?: string }) {
  return (await ok(tasks.tasks.get({ query: { ...query, group: 'status' } }))) as TaskGroups
}

export const listQuery = (projectId: string, search: TaskSearch) =>
  infiniteQueryOptions({
    queryKey: ['tasks', projectId, 'list', filtersOf(search), search.status],
    queryFn: async ({ pageParam }) =>
      (await ok(
        tasks.tasks.get({
          query: {
            projectId,
            ...filtersOf(search),
            ...(search.status && { status: search.status }),
            limit: 100,
            sort: 'updatedAt',
            ...(pageParam && { cursor: pageParam }),
          },
        }),
      )) as TaskPage,
    initialPageParam: '',
    getNextPageParam: (page) => page.nextCursor,
  })

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

/** Moves a card at once, and puts it back if the server refuses. */
export function useMove(projectId: string, search: TaskSearch, refused: (move: Move, error: Error) => void) {
  const cache = useQueryClient()
  const { queryKey } = boardQuery(projectId, search)
  const mutationKey = ['move', projectId]
  return useMutation({
    // One after the other, each with the version that the one before returned: two quick moves are no conflict.
    mutationKey,
    scope: { id: `move ${projectId}` },
    mutationFn: ({ task, status, after }: Move) => {
      const patch: TaskPatch = { ...(status !== task.status && { status }), after: after?.key ?? null }
      const shown = cache.getQueryData(queryKey)?.groups.flatMap(({ items }) => items)
      const version = shown?.find(({ id }) => id === task.id)?.version ?? task.version
      return ok(tasks.tasks({ id: task.id }).patch(patch, change(version)))
    },
    onSuccess: ({ id, version }) => cache.setQueryData(queryKey, (board) => board && atVersion(board, id, version)),
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
