import { queryOptions } from '@tanstack/react-query'
import type { IssueCreate } from '../../../features/issues/schema.ts'
import { issues, newIdempotencyKey, ok, writeOptions } from '../../api.ts'
import { useWrite } from '../../lib/data.ts'

export const issuesQuery = queryOptions({
  queryKey: ['issues'],
  queryFn: () => ok(issues.issues.get({ query: { limit: 40 } })),
})

export const useReportIssue = () =>
  useWrite(
    ({ key = newIdempotencyKey(), ...issue }: IssueCreate & { key?: string }) =>
      ok(issues.issues.post(issue, writeOptions(undefined, key))),
    ['issues'],
  )
