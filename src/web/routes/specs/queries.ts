import { ok, specs } from '../../api.ts'
import { pagedQuery } from '../../lib/data.ts'
import type { SpecsSearch } from './search.ts'

export const specsQuery = (team: string, { q, status, project }: SpecsSearch) =>
  pagedQuery(['specs', team, { q, status, project }], (page) =>
    ok(
      specs.specs.get({
        query: {
          limit: 50,
          ...(q && { search: q }),
          ...(status && { status }),
          ...(project && { projectId: project }),
          ...page,
        },
      }),
    ),
  )
