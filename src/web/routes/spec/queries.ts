import { queryOptions } from '@tanstack/react-query'
import { ok, specs } from '../../api.ts'

export const specQuery = (id: string) =>
  queryOptions({ queryKey: ['spec', id], queryFn: () => ok(specs.specs({ id }).get({ query: {} })) })
