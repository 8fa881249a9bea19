import { queryOptions } from '@tanstack/react-query'
import { ok, search } from '../../api.ts'
import type { SearchPageQuery } from './search.ts'

export const wordsQuery = (team: string, { q = '', kind }: SearchPageQuery) =>
  queryOptions({
    queryKey: ['search', team, 'words', q, kind],
    queryFn: () => ok(search.search.get({ query: { q, ...(kind && { kinds: kind }), limit: kind ? 40 : 6 } })),
    enabled: q !== '',
  })

/** Sources by meaning and, where a chat model is set up, an answer that cites them. */
export const meaningQuery = (team: string, { q = '', kind }: SearchPageQuery) =>
  queryOptions({
    queryKey: ['search', team, 'meaning', q, kind],
    queryFn: () => ok(search.search.ai.post({ query: q, ...(kind && { kinds: [kind] }), limit: 20 })),
    enabled: q !== '',
  })
