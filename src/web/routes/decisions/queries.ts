import { decisions, ok } from '../../api.ts'
import { pagedQuery } from '../../lib/data.ts'
import type { DecisionSearch } from './search.ts'

export const decisionsQuery = (team: string, { q, status, project }: DecisionSearch) =>
  pagedQuery(['decisions', team, { q, status, project }], (page) =>
    ok(
      decisions.decisions.get({
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
