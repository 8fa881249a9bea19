import { queryOptions } from '@tanstack/react-query'
import type { FeatureCreate } from '../../../features/workflow/schema.ts'
import { features, ok, writeOptions } from '../../api.ts'
import { pagedQuery, useWrite } from '../../lib/data.ts'
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
  pagedQuery(['features', slug, filtersOf(search)], (page) =>
    ok(
      features.projects({ slug }).features.get({
        query: { limit: 100, ...filtersOf(search), ...page },
      }),
    ),
  )

export const useCreateFeature = (slug: string) =>
  useWrite(
    ({ key, ...feature }: FeatureCreate & { key: string }) =>
      ok(features.projects({ slug }).features.post(feature, writeOptions(undefined, key))),
    ['features'],
  )
