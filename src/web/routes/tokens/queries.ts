import { queryOptions } from '@tanstack/react-query'
import { ok, tokens } from '../../api.ts'

/** The reader's tokens that work, of all their teams. */
export const tokensQuery = queryOptions({
  queryKey: ['tokens', 'active'],
  queryFn: async () => (await ok(tokens['mcp-tokens'].get({ query: { active: true, limit: 100 } }))).items,
})
