/** The specs of the team, the last changed first. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useRouteContext } from '@tanstack/react-router'
import { BookOpenText, Plus } from 'lucide-react'
import { Suspense, useState } from 'react'
import type { SpecItem } from '../../../features/specs/schema.ts'
import { Kbd } from '../../components/foot.tsx'
import { LongList } from '../../components/long-list.tsx'
import { QueryBar } from '../../components/query-bar.tsx'
import { Empty } from '../../components/states.tsx'
import { useKey } from '../../keys.ts'
import { lazy } from '../../lazy.ts'
import { projectsQuery } from '../../session.ts'
import { ago } from '../../times.ts'
import { specsQuery } from './queries.ts'
import { statusFlags, statusNames, words } from './words.ts'

const CreateDialog = lazy(async () => ({ default: (await import('../spec/create.tsx')).CreateDialog }))

const route = getRouteApi('/inside/specs')

export function SpecsPage() {
  const { team } = useRouteContext({ from: '/inside' })
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const projects = useQuery(projectsQuery(team.id)).data ?? []
  const narrow = (change: object) => void navigate({ search: (before) => ({ ...before, ...change }) })
  const found = useInfiniteQuery(specsQuery(team.id, search))
  const may = found.data?.pages[0]?.can?.create === true && projects.length > 0
  const [adding, setAdding] = useState(false)
  useKey('c', () => may && setAdding(true), may ? { label: words.create } : {})
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
        <span className="grow" />
        {may && (
          <button type="button" className="btn main small newtask" onClick={() => setAdding(true)}>
            <Plus className="i s14" aria-hidden />
            {words.create} <Kbd>c</Kbd>
          </button>
        )}
      </div>
      <LongList
        found={found}
        size={56}
        row={(spec) => <Row spec={spec} project={projects.find(({ id }) => id === spec.projectId)?.name} />}
        empty={
          <Empty title={words.none}>
            <p className="soft">{words.noneText}</p>
            {may && (
              <p className="voidact">
                <button type="button" className="btn main" onClick={() => setAdding(true)}>
                  {words.create}
                </button>
              </p>
            )}
            <code className="code">{words.command}</code>
          </Empty>
        }
        noMatch={filtered ? words.noMatch : undefined}
        onClear={() => narrow({ q: undefined, status: undefined, project: undefined })}
      />
      {adding && (
        <Suspense>
          <CreateDialog
            project={search.project}
            onClose={() => setAdding(false)}
            onCreated={(id) => void navigate({ to: '/specs/$id', params: { id } })}
          />
        </Suspense>
      )}
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
