import { queryOptions } from '@tanstack/react-query'
import type { McpTokenCreate } from '../../../features/tokens/schema.ts'
import { ok, tokens, writeOptions } from '../../api.ts'
import { useWrite } from '../../lib/data.ts'

const api = tokens['mcp-tokens']

/** The reader's tokens that work, of all their teams. */
export const tokensQuery = queryOptions({
  queryKey: ['tokens', 'active'],
  queryFn: () => ok(api.get({ query: { active: true, limit: 100 } })),
})

export const tokenQuery = (id: string) =>
  queryOptions({ queryKey: ['tokens', 'one', id], queryFn: () => ok(api({ id }).get()) })

export const toolsetsQuery = queryOptions({
  queryKey: ['toolsets'],
  queryFn: () => ok(tokens.mcp.toolsets.get()),
  staleTime: Number.POSITIVE_INFINITY,
})

export const useCreateToken = () =>
  useWrite(
    ({ key, ...token }: McpTokenCreate & { key: string }) => ok(api.post(token, writeOptions(undefined, key))),
    ['tokens'],
  )

export const useRevokeToken = () =>
  useWrite((id: string) => ok(api({ id }).delete(undefined, writeOptions())), ['tokens'])
