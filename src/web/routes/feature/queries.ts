import { queryOptions } from '@tanstack/react-query'
import { features, ok } from '../../api.ts'

export const featureQuery = (id: string) =>
  queryOptions({ queryKey: ['feature', id], queryFn: () => ok(features.features({ id }).get()) })
