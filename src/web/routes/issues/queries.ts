import { queryOptions } from '@tanstack/react-query'
import { issues, ok } from '../../api.ts'

export const issuesQuery = queryOptions({
  queryKey: ['issues'],
  queryFn: () => ok(issues.issues.get({ query: { limit: 50 } })),
})
