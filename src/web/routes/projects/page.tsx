import { useQuery } from '@tanstack/react-query'
import { Link, useRouteContext } from '@tanstack/react-router'
import { AfterAMoment, Empty, ProblemBox, Skeleton } from '../../components/states.tsx'
import { projectsQuery } from '../../session.ts'
import { ago } from '../../times.ts'
import { words } from './words.ts'

export function ProjectsPage() {
  const { team } = useRouteContext({ from: '/inside' })
  const { data, error } = useQuery(projectsQuery(team.id))
  return (
    <div className="scroll">
      <div className="page stack s4">
        <h1 className="h1">{words.title}</h1>
        {error && !data && <ProblemBox error={error} />}
        {!data && !error && (
          <AfterAMoment>
            <Skeleton />
          </AfterAMoment>
        )}
        {data?.length === 0 && (
          <Empty title={words.none}>
            <p className="soft">{words.noneText}</p>
            <code className="code">{words.command}</code>
          </Empty>
        )}
        {data && data.length > 0 && (
          <ul className="sheet">
            {data.map((project) => (
              <li key={project.id} className="prow">
                <Link className="row wide" to="/projects/$slug" params={{ slug: project.slug }}>
                  <span className="soft t12">{project.key}</span>
                  <span className="grow stack s1">
                    <b className="b5">{project.name}</b>
                    {project.description && <span className="soft t12 cut">{project.description}</span>}
                  </span>
                  <span className="soft t12">{words.changed(ago(project.updatedAt))}</span>
                </Link>
              </li>
            ))}
          </ul>
        )}
      </div>
    </div>
  )
}
