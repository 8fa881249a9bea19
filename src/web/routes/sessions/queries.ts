import { ok, sessions } from '../../api.ts'
import { pagedQuery } from '../../lib/data.ts'

export const sessionsQuery = (team: string) =>
  pagedQuery(['sessions', team], (page) => ok(sessions.sessions.get({ query: { limit: 30, ...page } })))
