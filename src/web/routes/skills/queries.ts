import { infiniteQueryOptions } from '@tanstack/react-query'
import { ok, skills } from '../../api.ts'
import type { SkillSearch } from './search.ts'

export const skillsQuery = (team: string, { q, scope }: SkillSearch) =>
  infiniteQueryOptions({
    queryKey: ['skills', team, { q, scope }],
    queryFn: ({ pageParam }) =>
      ok(
        skills.skills.get({
          query: {
            limit: 50,
            ...(q && { search: q }),
            ...(scope && { scope }),
            ...(pageParam && { cursor: pageParam }),
          },
        }),
      ),
    initialPageParam: '',
    getNextPageParam: (page) => page.nextCursor,
  })
