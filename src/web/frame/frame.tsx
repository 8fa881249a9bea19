/** What stands around every page: the bar above, the sidebar, the foot line; on a phone a head and a bar of tabs. */
import { useQuery } from '@tanstack/react-query'
import { Link, Outlet, useRouteContext } from '@tanstack/react-router'
import { FolderKanban, Inbox, type LucideIcon } from 'lucide-react'
import { useEffect } from 'react'
import { FootProvider } from '../components/foot.tsx'
import { Mark } from '../components/glyphs.tsx'
import { follow } from '../live.ts'
import { countQuery, projectsQuery } from '../session.ts'
import { words } from '../words.ts'
import { Foot } from './foot-line.tsx'
import { Top } from './top.tsx'

export function Frame() {
  const { team } = useRouteContext({ from: '/inside' })
  useEffect(() => follow(team.id), [team.id])
  return (
    <FootProvider>
      <Hatching />
      <div className="app">
        <a className="skip" href="#page">
          Skip to the page
        </a>
        <Top />
        <PhoneHead />
        <Sidebar />
        <main id="page" tabIndex={-1}>
          <Outlet />
        </main>
        <Foot />
        <TabBar />
      </div>
    </FootProvider>
  )
}

/** The pattern that means "stalled", for every drawing that needs it. */
const Hatching = () => (
  <svg width="0" height="0" className="hide" aria-hidden>
    <defs>
      <pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
        <path d="M0 0v6" stroke="var(--warn)" strokeWidth="1.5" opacity=".55" />
      </pattern>
    </defs>
  </svg>
)

const Label = ({ icon: Icon, text }: { icon: LucideIcon; text: string }) => (
  <>
    <Icon className="i" aria-hidden />
    <span className="cut">{text}</span>
  </>
)

function Sidebar() {
  const { team } = useRouteContext({ from: '/inside' })
  const projects = useQuery(projectsQuery(team.id)).data ?? []
  const unread = useQuery(countQuery).data?.unread ?? 0
  return (
    <nav className="side" aria-label={words.main}>
      <a className="nav" href="/inbox">
        <Label icon={Inbox} text={words.inbox} />
        {unread > 0 && <span className="n due">{unread}</span>}
      </a>
      <h2>
        <Link to="/projects" className="grow" activeOptions={{ exact: true }}>
          {words.projects}
        </Link>
      </h2>
      {projects.map((project, place) => (
        <Link key={project.id} className="nav" to="/projects/$slug/tasks" params={{ slug: project.slug }}>
          <span className={`pdot ${['', 'b', 'c'][place % 3]}`} />
          <span className="cut">{project.name}</span>
        </Link>
      ))}
    </nav>
  )
}

const PhoneHead = () => (
  <header className="phonehead">
    <Mark />
    <b className="cut grow">Tutti</b>
  </header>
)

const TabBar = () => (
  <nav className="tabbar" aria-label={words.main}>
    <Link to="/projects">
      <FolderKanban className="i s20" aria-hidden />
      {words.projects}
    </Link>
    <a href="/inbox">
      <Inbox className="i s20" aria-hidden />
      {words.inbox}
    </a>
  </nav>
)
