import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { change, ok, repositories } from '../../api.ts'
import { useWrite } from '../../lib/data.ts'

export const repoQuery = (id: string) =>
  queryOptions({ queryKey: ['repositories', 'one', id], queryFn: () => ok(repositories.repos({ id }).get()) })

/** Reads it from its host. A refusal is stored with the repository, so it is read again in any case. */
export const useSync = (id: string) =>
  useWrite(() => ok(repositories.repos({ id }).sync.post(undefined, change())), ['repositories'])

/** Removes a repository. Its page is left before events can have it read again. */
export function useRemove({ id, version }: { id: string; version: number }, leave: () => Promise<unknown>) {
  const cache = useQueryClient()
  return useMutation({
    mutationFn: () => ok(repositories.repos({ id }).delete(undefined, change(version))),
    onSuccess: async () => {
      await leave()
      await cache.invalidateQueries({ queryKey: ['repositories', 'of'] })
    },
  })
}
