/** The decisions of the team, the last changed first. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useRouteContext } from '@tanstack/react-router'
import type { DecisionItem } from '../../../features/decisions/schema.ts'
import { projectsQuery } from '../../account/session.ts'
import { Avatar } from '../../components/avatar.tsx'
import { filterChoices, projectFilter, RecordCells, RecordList } from '../../components/list/record-list.tsx'
import { lazy } from '../../lib/lazy.ts'
import { decisionsQuery } from './queries.ts'
import { statusFlags, statusNames, words } from './words.ts'

const LogDialog = lazy(async () => ({ default: (await import('../decision/dialogs.tsx')).LogDialog }))

const route = getRouteApi('/inside/decisions')

export function DecisionsPage() {
  const { team } = useRouteContext({ from: '/inside' })
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const projects = useQuery(projectsQuery(team.id)).data ?? []
  const found = useInfiniteQuery(decisionsQuery(team.id, search))
  return (
    <RecordList
      words={words}
      found={found}
      filters={[
        { name: 'status', label: words.status, values: filterChoices(statusNames), chosen: search.status },
        projectFilter(words.project, projects, search.project),
      ]}
      q={search.q}
      onNarrow={(change) => void navigate({ search: (before) => ({ ...before, ...change }) })}
      may={found.data?.pages[0]?.can?.create === true}
      create={(close) => (
        <LogDialog onClose={close} onLogged={(id) => void navigate({ to: '/decisions/$id', params: { id } })} />
      )}
      row={(decision) => <Row decision={decision} />}
    />
  )
}

const Row = ({ decision: { id, author, title, excerpt, status, updatedAt } }: { decision: DecisionItem }) => (
  <Link className="recrow" to="/decisions/$id" params={{ id }}>
    <RecordCells
      glyph={<Avatar party={author} />}
      title={title}
      text={<span className="soft t12 cut">{excerpt}</span>}
      flag={<span className={statusFlags[status]}>{statusNames[status]}</span>}
      updatedAt={updatedAt}
    />
  </Link>
)
