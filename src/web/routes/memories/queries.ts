import { queryOptions } from '@tanstack/react-query'
import type { MemoryScope } from '../../../records/names.ts'
import { memories, ok, writeOptions } from '../../api.ts'
import { pagedQuery, useWrite } from '../../lib/data.ts'
import type { MemorySearch } from './search.ts'

/** How many memories are loaded at once. */
const PAGE = 50
const DAY = 86_400_000

/** Returns midnight, `days` days ago. An exact time would differ, and load the list again, at every render. */
const daysAgo = (days: number): string => new Date(new Date().setHours(0, 0, 0, 0) - days * DAY).toISOString()

export const memoriesQuery = (team: string, { scope, scopeId, tag, age, old, sort }: MemorySearch) =>
  pagedQuery(['memories', team, { scope, scopeId, tag, age, old, sort }], (page) =>
    ok(
      memories.memories.get({
        query: {
          ...(scope && { scope }),
          ...(scopeId && { scopeId }),
          ...(tag && { tag }),
          ...(age && { since: daysAgo(age) }),
          ...(old && { old }),
          ...page,
          limit: PAGE,
          sort: sort ?? 'updatedAt',
          order: 'desc',
        },
      }),
    ),
  )

/** A search needs a record to be about: a scope alone only narrows lists. */
export const hitsQuery = (team: string, { q = '', scope, scopeId, tag, old }: MemorySearch) =>
  queryOptions({
    queryKey: ['memories', team, 'search', { q, scope, scopeId, tag, old }],
    queryFn: () =>
      ok(
        memories.memories.search.post({
          query: q,
          ...(scope && scopeId && { scope, scopeId }),
          ...(tag && { tags: [tag] }),
          ...(old && { old }),
          limit: 30,
        }),
      ),
  })

interface Place {
  scope: MemoryScope
  scopeId: string
}

/** How many memories there are of a scope: what a first call, without confirmation, returns. */
export const memoryCountQuery = (place: Place) =>
  queryOptions({
    queryKey: ['memories', 'count', place],
    queryFn: async () => (await ok(memories.memories.clear.post(place))).count,
    staleTime: 0,
  })

export const useClearMemories = (place: Place) =>
  useWrite((confirm: number) => ok(memories.memories.clear.post({ ...place, confirm }, writeOptions())), ['memories'])
