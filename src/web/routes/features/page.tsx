/** The features of a project by the states of its workflow; one state also as a list. */
import { useInfiniteQuery, useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import type { FeatureItem } from '../../../features/workflow/schema.ts'
import { PriorityGlyph } from '../../components/glyphs.tsx'
import { filterChoices, RecordCells, RecordList } from '../../components/list/record-list.tsx'
import { lazy } from '../../lib/lazy.ts'
import { priorityNames } from '../../words.ts'
import { humanizeName } from '../feature/words.ts'
import { projectQuery } from '../project/queries.ts'
import { FeatureBoard, GateMarks } from './board.tsx'
import { featuresQuery, workflowQuery } from './queries.ts'
import type { FeatureSearch } from './search.ts'
import { words } from './words.ts'

const CreateDialog = lazy(async () => ({ default: (await import('./create.tsx')).CreateFeatureDialog }))

const route = getRouteApi('/inside/projects/$slug/features')

export function FeaturesPage() {
  const { slug } = route.useParams()
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const project = useSuspenseQuery(projectQuery(slug)).data
  const states = useQuery(workflowQuery(slug)).data?.states
  const found = useInfiniteQuery(featuresQuery(slug, search))
  const items = found.data?.pages.flatMap((page) => page.items) ?? []
  const isBoard = search.status === undefined && states !== undefined && items.length > 0 && !found.hasNextPage
  return (
    <RecordList
      words={{ ...words, title: words.title(project.name), command: words.command(project.key) }}
      quiet
      found={found}
      filters={filtersFor(search, states ?? [])}
      q={search.q}
      onNarrow={(change) => void navigate({ search: (before) => ({ ...before, ...change }) })}
      may={found.data?.pages[0]?.can?.create === true}
      create={(close) => (
        <CreateDialog
          slug={slug}
          onClose={close}
          onCreated={(id) => void navigate({ to: '/features/$id', params: { id } })}
        />
      )}
      instead={isBoard ? <FeatureBoard states={states} features={items} /> : undefined}
      row={(feature) => <Row feature={feature} />}
    />
  )
}

const filtersFor = ({ assignee, kind, status }: FeatureSearch, states: readonly string[]) => [
  {
    name: 'assignee',
    label: words.assignee,
    values: [
      { value: 'me', label: words.mine },
      { value: 'none', label: words.nobody },
    ],
    chosen: assignee,
  },
  {
    name: 'kind',
    label: words.kind,
    values: filterChoices(words.kinds),
    chosen: kind,
  },
  {
    name: 'status',
    label: words.state,
    values: states.map((value) => ({ value, label: humanizeName(value) })),
    chosen: status,
  },
]

const Row = ({ feature }: { feature: FeatureItem }) => (
  <Link className="recrow" to="/features/$id" params={{ id: feature.id }}>
    <RecordCells
      glyph={<PriorityGlyph priority={feature.priority} name={priorityNames[feature.priority]} />}
      title={feature.title}
      text={<GateMarks feature={feature} />}
      flag={<span className="flag">{humanizeName(feature.status)}</span>}
      updatedAt={feature.updatedAt}
    />
  </Link>
)
