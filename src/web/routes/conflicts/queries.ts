import { infiniteQueryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import type { Resolve } from '../../../features/sync/schema.ts'
import { ok, sync, writeOptions } from '../../api.ts'

export const conflictsQuery = infiniteQueryOptions({
  queryKey: ['conflicts'],
  queryFn: ({ pageParam }) =>
    ok(sync.sync.conflicts.get({ query: { limit: 20, ...(pageParam ? { cursor: pageParam } : { total: true }) } })),
  initialPageParam: '',
  getNextPageParam: (page) => page.nextCursor,
})

/** Decides on a conflict. */
export function useResolveConflict(id: string) {
  const cache = useQueryClient()
  return useMutation({
    mutationFn: (how: Resolve) => ok(sync.sync.conflicts({ id }).resolve.post(how, writeOptions())),
    // Any page may show the record.
    onSuccess: () => cache.invalidateQueries(),
  })
}
