import { infiniteQueryOptions } from '@tanstack/react-query'
import { memories, ok } from '../../api.ts'
import type { MemorySearch } from './search.ts'

/** How many memories are loaded at once. */
const PAGE = 50
const DAY = 86_400_000

/** The start of the day so many days ago: a precise instant would be another query at every render. */
const daysAgo = (days: number): string => new Date(new Date().setHours(0, 0, 0, 0) - days * DAY).toISOString()

export const memoriesQuery = (team: string, { scope, scopeId, tag, age, old, sort }: MemorySearch) =>
  infiniteQueryOptions({
    queryKey: ['memories', team, { scope, scopeId, tag, age, old, sort }],
    queryFn: ({ pageParam }) =>
      ok(
        memories.memories.get({
          query: {
            ...(scope && { scope }),
            ...(scopeId && { scopeId }),
            ...(tag && { tag }),
            ...(age && { since: daysAgo(age) }),
            ...(old && { old }),
            ...(pageParam && { cursor: pageParam }),
            limit: PAGE,
            sort: sort ?? 'updatedAt',
            order: 'desc',
          },
        }),
      ),
    initialPageParam: '',
    getNextPageParam: (page) => page.nextCursor,
  })
