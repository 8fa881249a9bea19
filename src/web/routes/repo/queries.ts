import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { ok, repositories, writeOptions } from '../../api.ts'
import { useWrite } from '../../lib/data.ts'

export const repoQuery = (id: string) =>
  queryOptions({ queryKey: ['repositories', 'one', id], queryFn: () => ok(repositories.repos({ id }).get()) })

/** Reads it from its host. A refusal is stored with the repository, so it is read again in any case. */
export const useSyncRepository = (id: string) =>
  useWrite(() => ok(repositories.repos({ id }).sync.post(undefined, writeOptions())), ['repositories'])

/**
 * Removes a repository, whatever its version: every sync makes a new one. Its page is left before events can have it
 * read again.
 */
export function useRemoveRepository({ id }: { id: string }, leave: () => Promise<unknown>) {
  const cache = useQueryClient()
  return useMutation({
    mutationFn: () => ok(repositories.repos({ id }).delete(undefined, writeOptions())),
    onSuccess: async () => {
      await leave()
      await cache.invalidateQueries({ queryKey: ['repositories', 'of'] })
    },
  })
}
