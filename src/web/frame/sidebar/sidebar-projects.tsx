/** The projects of the team in the sidebar. The open one shows its pages. */
import { useQuery } from '@tanstack/react-query'
import { Link, useRouteContext } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { type ReactNode, Suspense, useRef, useState } from 'react'
import { projectsQuery, teamsQuery } from '../../account/session.ts'
import { lazy } from '../../lib/lazy.ts'
import { projectQuery } from '../../routes/project/queries.ts'
import { words } from '../../words.ts'
import { useOpenProject } from '../current-page.ts'
import { projectAddress, projectViews } from '../destinations.ts'
import { ProjectMenu } from './project-menu.tsx'

const CreateProject = lazy(() => import('../../routes/projects/create.tsx'))

/** Projects in the sidebar; the page of projects has them all. */
const SHOWN = 12

export function SidebarProjects() {
  const { team } = useRouteContext({ from: '/inside' })
  const { data } = useQuery(projectsQuery(team.id))
  const projects = data ?? []
  const here = useOpenProject()
  const isHere = ({ slug, id }: { slug: string; id: string }) => slug === here || id === here
  const shown = projects.filter((project, place) => place < SHOWN || isHere(project))
  return (
    <div role="group" aria-label={words.groups.projects}>
      <h2>
        <Link to="/projects" className="grow" activeOptions={{ exact: true }}>
          {words.groups.projects}
        </Link>
        <NewProject />
      </h2>
      {data?.length === 0 && !here && <p className="sidehint">{words.noProjects}</p>}
      {shown.map((project) => (
        <ProjectEntry key={project.id} project={project}>
          {isHere(project) && <Views slug={here ?? project.slug} />}
        </ProjectEntry>
      ))}
      {here && projects.length > 0 && !projects.some(isHere) && <UnlistedProject slug={here} />}
      {projects.length > shown.length && (
        <Link className="nav soft" to="/projects" activeOptions={{ exact: true }}>
          <span className="pdot none" />
          <span className="cut">{words.allProjects(projects.length)}</span>
        </Link>
      )}
    </div>
  )
}

function NewProject() {
  const { team } = useRouteContext({ from: '/inside' })
  const role = useQuery(teamsQuery).data?.find(({ id }) => id === team.id)?.role
  const [adding, setAdding] = useState(false)
  if (!role || role === 'viewer') return null
  return (
    <>
      <button
        type="button"
        className="ib s24"
        aria-label={words.newProject}
        title={words.newProject}
        onClick={() => setAdding(true)}
      >
        <Plus className="i s14" aria-hidden />
      </button>
      {adding && (
        <Suspense>
          <CreateProject onClose={() => setAdding(false)} />
        </Suspense>
      )}
    </>
  )
}

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
  project: { id: string; slug: string; name: string; color: string }
  children: ReactNode
}

function ProjectEntry({ project, children }: ProjectEntryProps) {
  const row = useRef<HTMLDivElement>(null)
  return (
    <>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the button in it does the same */}
      <div
        className="navrow"
        ref={row}
        onContextMenu={(event) => {
          event.preventDefault()
          const button = row.current?.querySelector('button')
          // The focus loads what the reader may do.
          button?.focus()
          button?.click()
        }}
      >
        <Link
          className="nav"
          to={projectAddress(project.slug)}
          title={project.name}
          activeOptions={{ exact: true, includeSearch: false }}
        >
          <span className={`pdot ${project.color}`} />
          <span className="cut">{project.name}</span>
        </Link>
        <ProjectMenu project={project} />
      </div>
      {children}
    </>
  )
}

/** The pages of the open project, each with the number of its records. */
function Views({ slug }: { slug: string }) {
  const stats = useQuery(projectQuery(slug)).data?.stats
  const totals: Record<string, number | undefined> = { '/tasks': stats?.tasks, '/features': stats?.features }
  return (
    <>
      {projectViews
        .filter(({ path }) => path !== '')
        .map(({ path, label }) => (
          <Link key={path} className="nav sub" to={projectAddress(slug, path)} activeOptions={{ includeSearch: false }}>
            <span className="cut">{label}</span>
            <Total n={totals[path]} />
          </Link>
        ))}
      <Link className="nav sub" to="/notes" search={{ project: slug }} activeOptions={{ exact: true }}>
        <span className="cut">{words.views.notes}</span>
        <Total n={stats?.notes} />
      </Link>
    </>
  )
}

const Total = ({ n }: { n: number | undefined }) => n !== undefined && n > 0 && <span className="n">{n}</span>
