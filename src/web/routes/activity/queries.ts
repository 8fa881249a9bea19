import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { activities, ok } from '../../api.ts'
import type { ActivitySearch } from './search.ts'

const filtersOf = ({ actor, kind, project, who }: ActivitySearch) => ({
  ...(actor && { actorId: actor }),
  ...(kind && { type: `${kind}.` }),
  ...(project && { projectId: project }),
  ...(who && { actorType: who }),
})

export const feedQuery = (team: string, search: ActivitySearch) =>
  infiniteQueryOptions({
    queryKey: ['activities', team, filtersOf(search)],
    queryFn: ({ pageParam }) =>
      ok(
        activities.activities.get({
          query: { ...filtersOf(search), limit: 50, ...(pageParam && { cursor: pageParam }) },
        }),
      ),
    initialPageParam: '',
    getNextPageParam: (page) => page.nextCursor,
    // New entries wait until the reader asks for them, so that nothing moves under the pointer.
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
  })

/** The newest entries, asked for whenever something happened. */
export const newestQuery = (team: string, search: ActivitySearch) =>
  queryOptions({
    queryKey: ['newest', team, filtersOf(search)],
    queryFn: async () => (await ok(activities.activities.get({ query: { ...filtersOf(search), limit: 20 } }))).items,
  })
