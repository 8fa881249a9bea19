import { useQuery } from '@tanstack/react-query'
import { Link, useRouteContext } from '@tanstack/react-router'
import { inboxCountQuery, myTaskCountQuery } from '../../account/session.ts'
import { useClaimedTasks } from '../../claimed-tasks.ts'
import { words } from '../../words.ts'
import { useDestinations } from '../current-page.ts'
import { type Destination, sections } from '../destinations.ts'
import { SidebarClaims } from './sidebar-claims.tsx'
import { SidebarFavourites } from './sidebar-favourites.tsx'
import { SidebarProjects } from './sidebar-projects.tsx'

export const Sidebar = () => (
  <nav className="side" aria-label={words.main}>
    <div className="sidenav">
      <SidebarEntries />
    </div>
    <SidebarClaims />
  </nav>
)

/** All entries, in groups: for the sidebar, and on a phone behind "More". */
export function SidebarEntries() {
  const { destinations, at } = useDestinations()
  return (
    <>
      {destinations
        .filter(({ group }) => group === 'top')
        .map((place) => (
          <Entry key={place.to} place={place} />
        ))}
      <SidebarFavourites />
      <SidebarProjects />
      <div role="group" aria-label={words.groups.team}>
        <h2>{words.groups.team}</h2>
        {sections.map(({ name, label, icon: Icon }) => (
          <Link
            key={name}
            className="nav"
            to={destinations.find(({ group }) => group === name)?.to ?? '/'}
            title={label}
            aria-current={at?.group === name ? 'true' : undefined}
            activeOptions={{ exact: true, includeSearch: false }}
          >
            <Icon className="i" aria-hidden />
            <span className="cut">{label}</span>
          </Link>
        ))}
      </div>
    </>
  )
}

function Entry({ place: { to, search, label, icon: Icon } }: { place: Destination }) {
  return (
    <Link
      className="nav"
      to={to}
      {...(search && { search })}
      title={label}
      activeOptions={{ exact: to === '/' || search !== undefined, includeSearch: search !== undefined }}
    >
      <Icon className="i" aria-hidden />
      <span className="cut">{label}</span>
      {to === '/inbox' && <InboxCount />}
      {to === '/now' && <ClaimCount />}
      {to === '/tasks' && <MyTaskCount />}
    </Link>
  )
}

/** The number of claimed tasks, as on the Now page. */
function ClaimCount() {
  const n = useClaimedTasks()?.length ?? 0
  return n > 0 && <span className="n">{words.atWork(n)}</span>
}

/** The number of notifications that require an action of the reader. */
function InboxCount() {
  const { needs = 0 } = useQuery(inboxCountQuery).data ?? {}
  return needs > 0 && <span className="n due">{needs}</span>
}

/** The number of open tasks of the reader. */
function MyTaskCount() {
  const { team } = useRouteContext({ from: '/inside' })
  const n = useQuery(myTaskCountQuery(team.id)).data ?? 0
  return n > 0 && <span className="n">{n}</span>
}
