import { queryOptions } from '@tanstack/react-query'
import type { AgentDetail, AgentPatch } from '../../../features/agents/schema.ts'
import type { TaskPage } from '../../../features/tasks/lists/list-schema.ts'
import { agents, ok, tasks, tokens, writeOptions } from '../../api.ts'
import { useWrite } from '../../lib/data.ts'

export const agentQuery = (id: string) =>
  queryOptions({ queryKey: ['agent', id], queryFn: () => ok(agents.agents({ id }).get()) })

/** The tasks that it holds now, whoever they are assigned to. */
export const heldTasksQuery = (holder: string) =>
  queryOptions({
    queryKey: ['tasks', 'held by', holder],
    queryFn: async () => ((await ok(tasks.tasks.get({ query: { holder, limit: 10 } }))) as TaskPage).items,
  })

/** The reader's own tokens that work as this agent. */
export const agentTokensQuery = (agentId: string) =>
  queryOptions({
    queryKey: ['tokens', 'of', agentId],
    queryFn: async () => (await ok(tokens['mcp-tokens'].get({ query: { agentId, active: true, limit: 20 } }))).items,
  })

export const useChangeAgent = (agent: AgentDetail) =>
  useWrite(
    (patch: AgentPatch) => ok(agents.agents({ id: agent.id }).put(patch, writeOptions(agent.version))),
    ['agent'],
    ['agents'],
  )
