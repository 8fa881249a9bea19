/** The decisions of the team, the last changed first. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useRouteContext } from '@tanstack/react-router'
import type { DecisionItem } from '../../../features/decisions/schema.ts'
import { LongList } from '../../components/long-list.tsx'
import { Avatar } from '../../components/party.tsx'
import { QueryBar } from '../../components/query-bar.tsx'
import { Empty } from '../../components/states.tsx'
import { projectsQuery } from '../../session.ts'
import { ago } from '../../times.ts'
import { decisionsQuery } from './queries.ts'
import { statusFlags, statusNames, words } from './words.ts'

const route = getRouteApi('/inside/decisions')

export function DecisionsPage() {
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
        found={useInfiniteQuery(decisionsQuery(team.id, search))}
        size={56}
        row={(decision) => <Row decision={decision} />}
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

const Row = ({ decision }: { decision: DecisionItem }) => (
  <Link className="recrow" to="/decisions/$id" params={{ id: decision.id }}>
    <Avatar party={decision.author} />
    <span className="grow stack s1">
      <b className="b5 cut">{decision.title}</b>
      <span className="soft t12 cut">{decision.excerpt}</span>
    </span>
    <span className={statusFlags[decision.status]}>{statusNames[decision.status]}</span>
    <span className="soft t12 num hp">{ago(decision.updatedAt)}</span>
  </Link>
)
