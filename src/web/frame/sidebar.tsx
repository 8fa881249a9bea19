import { useQuery } from '@tanstack/react-query'
import { Link, useRouteContext } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useFavourites } from '../account/favourites.ts'
import { inboxCountQuery, projectsQuery } from '../account/session.ts'
import { useClaimedTasks } from '../claimed-tasks.ts'
import { projectQuery } from '../routes/project/queries.ts'
import { words } from '../words.ts'
import { useDestinations, useProjectSlug } from './current-page.ts'
import { type Destination, projectAddress, projectViews } from './destinations.ts'
import { SidebarClaims } from './sidebar-claims.tsx'

/** Projects in the sidebar; the page of projects has them all. */
const SHOWN = 12

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
  const { destinations } = useDestinations()
  const of = (group: Destination['group']) => destinations.filter((place) => place.group === group)
  return (
    <>
      {of('top').map((place) => (
        <Entry key={place.to} place={place} />
      ))}
      <h2>
        <Link to="/projects" className="grow" activeOptions={{ exact: true }}>
          {words.groups.projects}
        </Link>
      </h2>
      <Projects />
      {(['knowledge', 'agents', 'team'] as const).map((group) => {
        const entries = of(group)
        return (
          entries.length > 0 && (
            <div key={group} role="group" aria-label={words.groups[group]}>
              <h2>{words.groups[group]}</h2>
              {entries.map((place) => (
                <Entry key={place.to} place={place} />
              ))}
            </div>
          )
        )
      })}
    </>
  )
}

function Entry({ place: { to, label, icon: Icon } }: { place: Destination }) {
  return (
    <Link className="nav" to={to} title={label} activeOptions={{ exact: to === '/', includeSearch: false }}>
      <Icon className="i" aria-hidden />
      <span className="cut">{label}</span>
      {to === '/inbox' && <InboxCount />}
      {to === '/now' && <ClaimCount />}
    </Link>
  )
}

/** The number of claimed tasks, as on the Now page. */
function ClaimCount() {
  const n = useClaimedTasks()?.length ?? 0
  return n > 0 && <span className="n">{words.atWork(n)}</span>
}

/** The number of notifications that need the reader. */
function InboxCount() {
  const { needs = 0 } = useQuery(inboxCountQuery).data ?? {}
  return needs > 0 && <span className="n due">{needs}</span>
}

/** Favourites first, then by name. The current project is always listed, with its pages. */
function Projects() {
  const { team } = useRouteContext({ from: '/inside' })
  const { data = [] } = useQuery(projectsQuery(team.id))
  const here = useProjectSlug()
  const { ids } = useFavourites()
  const sorted = [...data].sort((a, b) => Number(ids.includes(b.id)) - Number(ids.includes(a.id)))
  const isHere = ({ slug, id }: { slug: string; id: string }) => slug === here || id === here
  const shown = sorted.filter((project, place) => place < SHOWN || isHere(project))
  return (
    <>
      {shown.map((project) => (
        <ProjectEntry key={project.id} project={project} tone={tones[data.indexOf(project) % 3]}>
          {isHere(project) && <Views slug={here ?? project.slug} />}
        </ProjectEntry>
      ))}
      {here && data.length > 0 && !data.some(isHere) && <UnlistedProject slug={here} />}
      {data.length > shown.length && (
        <Link className="nav soft" to="/projects" activeOptions={{ exact: true }}>
          <span className="pdot none" />
          <span className="cut">{words.allProjects(data.length)}</span>
        </Link>
      )}
    </>
  )
}

const tones = ['', 'b', 'c']

/** A project that the list of the sidebar does not reach. */
function UnlistedProject({ slug }: { slug: string }) {
  const project = useQuery(projectQuery(slug)).data
  return (
    project && (
      <ProjectEntry project={project}>
        <Views slug={slug} />
      </ProjectEntry>
    )
  )
}

interface ProjectEntryProps {
  project: { slug: string; name: string }
  tone?: string
  children: ReactNode
}

function ProjectEntry({ project, tone = '', children }: ProjectEntryProps) {
  return (
    <>
      <Link
        className="nav"
        to={projectAddress(project.slug)}
        title={project.name}
        activeOptions={{ exact: true, includeSearch: false }}
      >
        <span className={`pdot ${tone}`} />
        <span className="cut">{project.name}</span>
      </Link>
      {children}
    </>
  )
}

const Views = ({ slug }: { slug: string }) =>
  projectViews
    .filter(({ path }) => path !== '')
    .map(({ path, label }) => (
      <Link key={path} className="nav sub" to={projectAddress(slug, path)} activeOptions={{ includeSearch: false }}>
        <span className="cut">{label}</span>
      </Link>
    ))
