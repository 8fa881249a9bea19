import { queryOptions } from '@tanstack/react-query'
import { ok, projects } from '../../api.ts'

export const projectQuery = (slug: string) =>
  queryOptions({ queryKey: ['projects', 'one', slug], queryFn: () => ok(projects.projects({ slug }).get()) })
