import { infiniteQueryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import type { ProjectCreate } from '../../../features/projects/schema.ts'
import { change, ok, projects } from '../../api.ts'
import type { ProjectSearch } from './search.ts'

export const projectsQuery = (team: string, { status, q }: ProjectSearch) =>
  infiniteQueryOptions({
    queryKey: ['projects', team, 'list', { status, q }],
    queryFn: ({ pageParam }) =>
      ok(
        projects.projects.get({
          query: { limit: 50, status, ...(q && { search: q }), ...(pageParam && { cursor: pageParam }) },
        }),
      ),
    initialPageParam: '',
    getNextPageParam: (page) => page.nextCursor,
  })

export function useCreate() {
  const cache = useQueryClient()
  return useMutation({
    mutationFn: ({ once, ...project }: ProjectCreate & { once: string }) =>
      ok(projects.projects.post(project, change(undefined, once))),
    onSettled: () => cache.invalidateQueries({ queryKey: ['projects'] }),
  })
}
