import { infiniteQueryOptions } from '@tanstack/react-query'
import { features, ok } from '../../api.ts'
import type { FeatureSearch } from './search.ts'

export const featuresQuery = (slug: string, { q }: FeatureSearch) =>
  infiniteQueryOptions({
    queryKey: ['features', slug, { q }],
    queryFn: ({ pageParam }) =>
      ok(
        features.projects({ slug }).features.get({
          query: { limit: 50, ...(q && { search: q }), ...(pageParam && { cursor: pageParam }) },
        }),
      ),
    initialPageParam: '',
    getNextPageParam: (page) => page.nextCursor,
  })
