import { infiniteQueryOptions } from '@tanstack/react-query'
import { ok, specs } from '../../api.ts'
import type { SpecsSearch } from './search.ts'

export const specsQuery = (team: string, { q, status, project }: SpecsSearch) =>
  infiniteQueryOptions({
    queryKey: ['specs', team, { q, status, project }],
    queryFn: ({ pageParam }) =>
      ok(
        specs.specs.get({
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
