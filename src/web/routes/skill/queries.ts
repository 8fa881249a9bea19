import { queryOptions } from '@tanstack/react-query'
import { ok, skills } from '../../api.ts'

export const skillQuery = (id: string) =>
  queryOptions({ queryKey: ['skill', id], queryFn: () => ok(skills.skills({ id }).get()) })
