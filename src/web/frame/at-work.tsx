/** At the foot of the sidebar: who holds a task, and how much of the lease is left. */
import { queryOptions, useQuery } from '@tanstack/react-query'
import { Link, useLocation, useRouteContext } from '@tanstack/react-router'
import type { TaskPage } from '../../features/tasks/list-schema.ts'
import { ok, tasks } from '../api.ts'
import { LeaseRing } from '../components/party.tsx'
import { homeQuery } from '../routes/home/queries.ts'
import { minutesUntil, shareLeft } from '../times.ts'
import { words } from '../words.ts'

/** More are on the page of what goes on now. */
const MOST = 3
/** Calls move the end of a lease without an event. */
const ASK_EVERY = 60_000

const atWorkQuery = (team: string) =>
  queryOptions({
    queryKey: ['tasks', team, 'at work'],
    queryFn: async () => ((await ok(tasks.tasks.get({ query: { leased: true, limit: MOST } }))) as TaskPage).items,
    refetchInterval: ASK_EVERY,
  })

export function AtWork() {
  const { team } = useRouteContext({ from: '/inside' })
  // The home page has loaded them already.
  const isHome = useLocation({ select: ({ pathname }) => pathname === '/' })
  const home = useQuery({ ...homeQuery(team.id), enabled: isHome }).data
  const listed = useQuery({ ...atWorkQuery(team.id), enabled: !isHome }).data
  const held = (isHome ? home?.atWork : listed)?.slice(0, MOST) ?? []
  if (held.length === 0) return null
  return (
    <div className="atwork" role="group" aria-label={words.atWorkNow}>
      {held.map(
        ({ key, title, lease }) =>
          lease && (
            <Link key={key} className="row" to="/tasks/$key" params={{ key }} title={title}>
              <LeaseRing party={lease.holder} left={shareLeft(lease.lastSeenAt, lease.expiresAt)} />
              <span className="b5">{key}</span>
              <span className="soft end">{words.minutesLeft(minutesUntil(lease.expiresAt))}</span>
            </Link>
          ),
      )}
    </div>
  )
}
