import { ok, skills } from '../../api.ts'
import { pagedQuery } from '../../lib/data.ts'
import type { SkillSearch } from './search.ts'

export const skillsQuery = (team: string, { q, scope }: SkillSearch) =>
  pagedQuery(['skills', team, { q, scope }], (page) =>
    ok(
      skills.skills.get({
        query: {
          limit: 50,
          ...(q && { search: q }),
          ...(scope && { scope }),
          ...page,
        },
      }),
    ),
  )
