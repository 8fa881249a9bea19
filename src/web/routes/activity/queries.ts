import { infiniteQueryOptions } from '@tanstack/react-query'
import { activities, ok } from '../../api.ts'

export const feedQuery = (team: string) =>
  infiniteQueryOptions({
    queryKey: ['activities', team],
    queryFn: ({ pageParam }) =>
      ok(activities.activities.get({ query: { limit: 50, ...(pageParam && { cursor: pageParam }) } })),
    initialPageParam: '',
    getNextPageParam: (page) => page.nextCursor,
  })
