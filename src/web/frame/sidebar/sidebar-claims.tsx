/** At the bottom of the sidebar: claimed tasks with their holders, and the time left or that they are stalled. */
import { Link } from '@tanstack/react-router'
import { useClaimedTasks } from '../../claimed-tasks.ts'
import { LeaseRing } from '../../components/avatar.tsx'
import { ago, minutesUntil, shareLeft } from '../../lib/times.ts'
import { words } from '../../words.ts'

/** The Now page lists all. */
const MOST = 3

export function SidebarClaims() {
  const held = useClaimedTasks()?.slice(0, MOST) ?? []
  if (held.length === 0) return null
  return (
    <div className="atwork" role="group" aria-label={words.atWorkNow}>
      {held.map(
        ({ key, title, lease }) =>
          lease && (
            <Link
              key={key}
              className={lease.stalled ? 'row stalled' : 'row'}
              to="/tasks/$key"
              params={{ key }}
              title={title}
            >
              <LeaseRing party={lease.holder} left={shareLeft(lease.lastSeenAt, lease.expiresAt)} />
              <span className="b5">{key}</span>
              {lease.stalled && lease.lastChangeAt ? (
                <span className="warn b5 end">{words.stalledFor(ago(lease.lastChangeAt))}</span>
              ) : (
                <span className="soft end">{words.minutesLeft(minutesUntil(lease.expiresAt))}</span>
              )}
            </Link>
          ),
      )}
    </div>
  )
}
