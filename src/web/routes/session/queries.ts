import { queryOptions } from '@tanstack/react-query'
import { ok, sessions } from '../../api.ts'

export const sessionQuery = (id: string) =>
  queryOptions({ queryKey: ['session', id], queryFn: () => ok(sessions.sessions({ id }).get()) })
