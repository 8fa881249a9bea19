import type { ProjectCreate } from '../../../features/projects/schema.ts'
import { ok, projects, writeOptions } from '../../api.ts'
import { pagedQuery, useWrite } from '../../lib/data.ts'
import type { ProjectSearch } from './search.ts'

export const projectListQuery = (team: string, { status, q }: ProjectSearch) =>
  pagedQuery(['projects', team, 'list', { status, q }], (page) =>
    ok(
      projects.projects.get({
        query: { limit: 50, status, ...(q && { search: q }), ...page },
      }),
    ),
  )

export const useCreateProject = () =>
  useWrite(
    ({ once, ...project }: ProjectCreate & { once: string }) =>
      ok(projects.projects.post(project, writeOptions(undefined, once))),
    ['projects'],
  )
