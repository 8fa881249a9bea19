/** A project at a glance. */
import { useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { projectQuery } from './queries.ts'
import { words } from './words.ts'

const route = getRouteApi('/inside/projects/$slug')

export function ProjectPage() {
  const { slug } = route.useParams()
  const project = useSuspenseQuery(projectQuery(slug)).data
  const { tasks, tasksDone, notes } = project.stats
  return (
    <div className="scroll">
      <div className="page wide ph stack s4">
        <header className="row wide">
          <div className="grow">
            <h1 className="h1">{project.name}</h1>
            {project.description && <p className="soft">{project.description}</p>}
          </div>
          <Link className="btn" to="/projects/$slug/tasks" params={{ slug }}>
            {words.tasks}
          </Link>
          <Link className="btn" to="/projects/$slug/plan" params={{ slug }}>
            {words.plan}
          </Link>
        </header>
        <dl className="counts">
          <div>
            <dt>{words.open}</dt>
            <dd>{tasks - tasksDone}</dd>
          </div>
          <div>
            <dt>{words.done}</dt>
            <dd>{tasksDone}</dd>
            <dd className="sub">{words.of(tasks)}</dd>
          </div>
          <div>
            <dt>{words.notes}</dt>
            <dd>{notes}</dd>
          </div>
        </dl>
      </div>
    </div>
  )
}
