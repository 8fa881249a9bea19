import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import type { AgentDetail, AgentPatch } from '../../../features/agents/schema.ts'
import { agents, change, ok, tokens } from '../../api.ts'

export const agentQuery = (id: string) =>
  queryOptions({ queryKey: ['agent', id], queryFn: () => ok(agents.agents({ id }).get()) })

/** The reader's own tokens that work as this agent. */
export const agentTokensQuery = (agentId: string) =>
  queryOptions({
    queryKey: ['tokens', 'of', agentId],
    queryFn: async () => (await ok(tokens['mcp-tokens'].get({ query: { agentId, active: true, limit: 20 } }))).items,
  })

export function useChangeAgent(agent: AgentDetail) {
  const cache = useQueryClient()
  return useMutation({
    mutationFn: (patch: AgentPatch) => ok(agents.agents({ id: agent.id }).put(patch, change(agent.version))),
    onSettled: () =>
      Promise.all([
        cache.invalidateQueries({ queryKey: ['agent'] }),
        cache.invalidateQueries({ queryKey: ['agents'] }),
      ]),
  })
}
