import { queryOptions } from '@tanstack/react-query'
import { agents, ok } from '../../api.ts'

export const agentQuery = (id: string) =>
  queryOptions({ queryKey: ['agent', id], queryFn: () => ok(agents.agents({ id }).get()) })
