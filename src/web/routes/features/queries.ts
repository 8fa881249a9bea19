import { infiniteQueryOptions, queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import type { FeatureCreate } from '../../../features/workflow/schema.ts'
import { change, features, ok } from '../../api.ts'
import type { FeatureSearch } from './search.ts'

export const workflowQuery = (slug: string) =>
  queryOptions({
    queryKey: ['features', slug, 'workflow'],
    queryFn: () => ok(features.projects({ slug }).workflow.get()),
  })

const filtersOf = ({ q, assignee, kind, status }: FeatureSearch) => ({
  ...(q && { search: q }),
  ...(assignee && { assignee }),
  ...(kind && { kind }),
  ...(status && { status }),
})

export const featuresQuery = (slug: string, search: FeatureSearch) =>
  infiniteQueryOptions({
    queryKey: ['features', slug, filtersOf(search)],
    queryFn: ({ pageParam }) =>
      ok(
        features.projects({ slug }).features.get({
          query: { limit: 100, ...filtersOf(search), ...(pageParam && { cursor: pageParam }) },
        }),
      ),
    initialPageParam: '',
    getNextPageParam: (page) => page.nextCursor,
  })

export function useCreate(slug: string) {
  const cache = useQueryClient()
  return useMutation({
    mutationFn: ({ key, ...feature }: FeatureCreate & { key: string }) =>
      ok(features.projects({ slug }).features.post(feature, change(undefined, key))),
    onSettled: () => cache.invalidateQueries({ queryKey: ['features'] }),
  })
}
