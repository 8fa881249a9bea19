/** The specs of the team, the last changed first. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useRouteContext } from '@tanstack/react-router'
import { BookOpenText } from 'lucide-react'
import type { SpecItem } from '../../../features/specs/schema.ts'
import { projectsQuery } from '../../account/session.ts'
import { filterChoices, projectFilter, RecordCells, RecordList } from '../../components/list/record-list.tsx'
import { lazy } from '../../lib/lazy.ts'
import { specsQuery } from './queries.ts'
import { statusFlags, statusNames, words } from './words.ts'

const CreateDialog = lazy(async () => ({ default: (await import('../spec/create.tsx')).CreateSpecDialog }))

const route = getRouteApi('/inside/specs')

export function SpecsPage() {
  const { team } = useRouteContext({ from: '/inside' })
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const projects = useQuery(projectsQuery(team.id)).data ?? []
  const found = useInfiniteQuery(specsQuery(team.id, search))
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
      may={found.data?.pages[0]?.can?.create === true && projects.length > 0}
      create={(close) => (
        <CreateDialog
          project={search.project}
          onClose={close}
          onCreated={(id) => void navigate({ to: '/specs/$id', params: { id } })}
        />
      )}
      row={(spec) => <Row spec={spec} project={projects.find(({ id }) => id === spec.projectId)?.name} />}
    />
  )
}

const Row = ({ spec, project }: { spec: SpecItem; project: string | undefined }) => (
  <Link className="recrow" to="/specs/$id" params={{ id: spec.id }}>
    <RecordCells
      glyph={<BookOpenText className="i soft" aria-hidden />}
      title={spec.title}
      text={<span className="soft t12 cut">{[words.version(spec.version), project].filter(Boolean).join(' · ')}</span>}
      flag={<span className={statusFlags[spec.status]}>{statusNames[spec.status]}</span>}
      updatedAt={spec.updatedAt}
    />
  </Link>
)
