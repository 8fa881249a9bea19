/** Lists that are loaded page by page, and changes that have queries loaded again. */
import { infiniteQueryOptions, type QueryKey, useMutation, useQueryClient } from '@tanstack/react-query'

/** A list of the API. `load` gets the cursor of the page, which the first page has not. */
export const pagedQuery = <T extends { nextCursor: string | null }>(
  queryKey: QueryKey,
  load: (page: { cursor?: string }) => Promise<T>,
) =>
  infiniteQueryOptions({
    queryKey,
    queryFn: ({ pageParam }) => load(pageParam ? { cursor: pageParam } : {}),
    initialPageParam: '',
    getNextPageParam: (page) => page.nextCursor,
  })

/** A change after which, refused or not, these queries are loaded again. */
export function useWrite<I, O>(mutationFn: (input: I) => Promise<O>, ...refreshed: QueryKey[]) {
  const cache = useQueryClient()
  return useMutation({
    mutationFn,
    onSettled: () => Promise.all(refreshed.map((queryKey) => cache.invalidateQueries({ queryKey }))),
  })
}
