import { infiniteQueryOptions } from '@tanstack/react-query'
import { decisions, ok } from '../../api.ts'
import type { DecisionSearch } from './search.ts'

export const decisionsQuery = (team: string, { q, status, project }: DecisionSearch) =>
  infiniteQueryOptions({
    queryKey: ['decisions', team, { q, status, project }],
    queryFn: ({ pageParam }) =>
      ok(
        decisions.decisions.get({
          query: {
            limit: 50,
            ...(q && { search: q }),
            ...(status && { status }),
            ...(project && { projectId: project }),
            ...(pageParam && { cursor: pageParam }),
          },
        }),
      ),
    initialPageParam: '',
    getNextPageParam: (page) => page.nextCursor,
  })
