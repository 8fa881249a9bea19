/** The specs of the team, the last changed first. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useRouteContext } from '@tanstack/react-router'
import { BookOpenText } from 'lucide-react'
import type { SpecItem } from '../../../features/specs/schema.ts'
import { LongList } from '../../components/long-list.tsx'
import { QueryBar } from '../../components/query-bar.tsx'
import { Empty } from '../../components/states.tsx'
import { projectsQuery } from '../../session.ts'
import { ago } from '../../times.ts'
import { specsQuery } from './queries.ts'
import { statusFlags, statusNames, words } from './words.ts'

const route = getRouteApi('/inside/specs')

export function SpecsPage() {
  const { team } = useRouteContext({ from: '/inside' })
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const projects = useQuery(projectsQuery(team.id)).data ?? []
  const narrow = (change: object) => void navigate({ search: (before) => ({ ...before, ...change }) })
  const filtered = Boolean(search.q || search.status || search.project)
  return (
    <>
      <div className="viewbar">
        <h1 className="h2">{words.title}</h1>
        <QueryBar
          filters={[
            {
              name: 'status',
              label: words.status,
              values: Object.entries(statusNames).map(([value, label]) => ({ value, label })),
              chosen: search.status,
            },
            {
              name: 'project',
              label: words.project,
              values: projects.map(({ slug, name }) => ({ value: slug, label: name })),
              chosen: search.project,
            },
          ]}
          find={{ label: words.find, text: search.q }}
          onChange={narrow}
        />
      </div>
      <LongList
        found={useInfiniteQuery(specsQuery(team.id, search))}
        size={56}
        row={(spec) => <Row spec={spec} project={projects.find(({ id }) => id === spec.projectId)?.name} />}
        empty={
          <Empty title={words.none}>
            <p className="soft">{words.noneText}</p>
            <code className="code">{words.command}</code>
          </Empty>
        }
        noMatch={filtered ? words.noMatch : undefined}
        onClear={() => narrow({ q: undefined, status: undefined, project: undefined })}
      />
    </>
  )
}

const Row = ({ spec, project }: { spec: SpecItem; project: string | undefined }) => (
  <Link className="recrow" to="/specs/$id" params={{ id: spec.id }}>
    <BookOpenText className="i soft" aria-hidden />
    <span className="grow stack s1">
      <b className="b5 cut">{spec.title}</b>
      <span className="soft t12 cut">
        {words.version(spec.version)}
        {project && ` · ${project}`}
      </span>
    </span>
    <span className={statusFlags[spec.status]}>{statusNames[spec.status]}</span>
    <span className="soft t12 num hp">{ago(spec.updatedAt)}</span>
  </Link>
)
