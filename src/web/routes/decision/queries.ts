import { queryOptions } from '@tanstack/react-query'
import { decisions, ok } from '../../api.ts'

export const decisionQuery = (id: string) =>
  queryOptions({ queryKey: ['decision', id], queryFn: () => ok(decisions.decisions({ id }).get()) })
