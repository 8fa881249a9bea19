import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import type { IssueCreate } from '../../../features/issues/schema.ts'
import { change, issues, newKey, ok } from '../../api.ts'

export const issuesQuery = queryOptions({
  queryKey: ['issues'],
  queryFn: () => ok(issues.issues.get({ query: { limit: 40 } })),
})

export function useReport() {
  const cache = useQueryClient()
  return useMutation({
    mutationFn: ({ key = newKey(), ...issue }: IssueCreate & { key?: string }) =>
      ok(issues.issues.post(issue, change(undefined, key))),
    onSettled: () => cache.invalidateQueries({ queryKey: ['issues'] }),
  })
}
