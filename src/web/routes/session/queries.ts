import { queryOptions } from '@tanstack/react-query'
import { ok, sessions } from '../../api.ts'

export const timelineQuery = (id: string) =>
  queryOptions({ queryKey: ['session', id, 'timeline'], queryFn: () => ok(sessions.sessions({ id }).timeline.get()) })

export const sessionQuery = (id: string) =>
  queryOptions({ queryKey: ['session', id], queryFn: () => ok(sessions.sessions({ id }).get()) })
