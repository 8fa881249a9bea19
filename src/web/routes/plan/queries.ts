import { queryOptions } from '@tanstack/react-query'
import { ok, planning } from '../../api.ts'

export const treeQuery = (slug: string) =>
  queryOptions({ queryKey: ['plan', slug], queryFn: () => ok(planning.projects({ slug }).tree.get()) })
