import { infiniteQueryOptions } from '@tanstack/react-query'
import { ok, sessions } from '../../api.ts'

export const sessionsQuery = (team: string) =>
  infiniteQueryOptions({
    queryKey: ['sessions', team],
    queryFn: ({ pageParam }) =>
      ok(sessions.sessions.get({ query: { limit: 30, ...(pageParam && { cursor: pageParam }) } })),
    initialPageParam: '',
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
  })
