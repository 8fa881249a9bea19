/** The features of a project by the states of its workflow; one state also as a list. */
import { useInfiniteQuery, useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { Suspense, useState } from 'react'
import type { FeatureItem } from '../../../features/workflow/schema.ts'
import { Kbd } from '../../components/foot.tsx'
import { PriorityGlyph } from '../../components/glyphs.tsx'
import { LongList } from '../../components/long-list.tsx'
import { QueryBar } from '../../components/query-bar.tsx'
import { Empty } from '../../components/states.tsx'
import { useKey } from '../../keys.ts'
import { lazy } from '../../lazy.ts'
import { ago } from '../../times.ts'
import { priorityNames } from '../../words.ts'
import { inWords } from '../feature/words.ts'
import { projectQuery } from '../project/queries.ts'
import { Board, Gates } from './board.tsx'
import { featuresQuery, workflowQuery } from './queries.ts'
import type { FeatureSearch } from './search.ts'
import { words } from './words.ts'

const CreateDialog = lazy(async () => ({ default: (await import('./create.tsx')).CreateDialog }))

const route = getRouteApi('/inside/projects/$slug/features')
const none: FeatureSearch = { q: undefined, assignee: undefined, kind: undefined, status: undefined }

export function FeaturesPage() {
  const { slug } = route.useParams()
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const project = useSuspenseQuery(projectQuery(slug)).data
  const states = useQuery(workflowQuery(slug)).data?.states
  const found = useInfiniteQuery(featuresQuery(slug, search))
  const may = found.data?.pages[0]?.can?.create === true
  const [adding, setAdding] = useState(false)
  useKey('c', () => may && setAdding(true), may ? { label: words.create } : {})
  const narrow = (change: object) => void navigate({ search: (before) => ({ ...before, ...change }) })
  const items = found.data?.pages.flatMap((page) => page.items) ?? []
  const isBoard = search.status === undefined && states !== undefined && items.length > 0 && !found.hasNextPage
  return (
    <>
      <h1 className="hide">{words.title(project.name)}</h1>
      <div className="viewbar">
        <QueryBar
          filters={filtersFor(search, states ?? [])}
          find={{ label: words.find, text: search.q }}
          onChange={narrow}
        />
        <span className="grow" />
        {may && (
          <button type="button" className="btn main small newtask" onClick={() => setAdding(true)}>
            <Plus className="i s14" aria-hidden />
            {words.create} <Kbd>c</Kbd>
          </button>
        )}
      </div>
      {isBoard ? (
        <Board states={states} features={items} />
      ) : (
        <LongList
          found={found}
          size={56}
          row={(feature) => <Row feature={feature} />}
          empty={<Nothing project={project.key} onAdd={may ? () => setAdding(true) : undefined} />}
          noMatch={Object.values(search).some(Boolean) ? words.noMatch : undefined}
          onClear={() => narrow(none)}
        />
      )}
      {adding && (
        <Suspense>
          <CreateDialog
            slug={slug}
            onClose={() => setAdding(false)}
            onCreated={(id) => void navigate({ to: '/features/$id', params: { id } })}
          />
        </Suspense>
      )}
    </>
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
    values: Object.entries(words.kinds).map(([value, label]) => ({ value, label })),
    chosen: kind,
  },
  {
    name: 'status',
    label: words.state,
    values: states.map((value) => ({ value, label: inWords(value) })),
    chosen: status,
  },
]

const Nothing = ({ project, onAdd }: { project: string; onAdd: (() => void) | undefined }) => (
  <Empty title={words.none}>
    <p className="soft">{words.noneText}</p>
    {onAdd && (
      <p className="voidact">
        <button type="button" className="btn main" onClick={onAdd}>
          {words.create}
        </button>
      </p>
    )}
    <code className="code">{words.command(project)}</code>
  </Empty>
)

const Row = ({ feature }: { feature: FeatureItem }) => (
  <Link className="recrow" to="/features/$id" params={{ id: feature.id }}>
    <PriorityGlyph priority={feature.priority} name={priorityNames[feature.priority]} />
    <span className="grow stack s1">
      <b className="b5 cut">{feature.title}</b>
      <Gates feature={feature} />
    </span>
    <span className="flag">{inWords(feature.status)}</span>
    <span className="soft t12 num hp">{ago(feature.updatedAt)}</span>
  </Link>
)
