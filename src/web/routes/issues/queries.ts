import { queryOptions } from '@tanstack/react-query'
import type { IssueCreate } from '../../../features/issues/schema.ts'
import { change, issues, newKey, ok } from '../../api.ts'
import { useWrite } from '../../lib/data.ts'

export const issuesQuery = queryOptions({
  queryKey: ['issues'],
  queryFn: () => ok(issues.issues.get({ query: { limit: 40 } })),
})

export const useReport = () =>
  useWrite(
    ({ key = newKey(), ...issue }: IssueCreate & { key?: string }) =>
      ok(issues.issues.post(issue, change(undefined, key))),
    ['issues'],
  )
