/** The decisions of the team, the last changed first. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useRouteContext } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { Suspense, useState } from 'react'
import type { DecisionItem } from '../../../features/decisions/schema.ts'
import { Kbd } from '../../components/foot.tsx'
import { LongList } from '../../components/long-list.tsx'
import { Avatar } from '../../components/party.tsx'
import { QueryBar } from '../../components/query-bar.tsx'
import { Empty } from '../../components/states.tsx'
import { useKey } from '../../keys.ts'
import { lazy } from '../../lazy.ts'
import { projectsQuery } from '../../session.ts'
import { ago } from '../../times.ts'
import { decisionsQuery } from './queries.ts'
import { statusFlags, statusNames, words } from './words.ts'

const LogDialog = lazy(async () => ({ default: (await import('../decision/dialogs.tsx')).LogDialog }))

const route = getRouteApi('/inside/decisions')

export function DecisionsPage() {
  const { team } = useRouteContext({ from: '/inside' })
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const projects = useQuery(projectsQuery(team.id)).data ?? []
  const narrow = (change: object) => void navigate({ search: (before) => ({ ...before, ...change }) })
  const found = useInfiniteQuery(decisionsQuery(team.id, search))
  const may = found.data?.pages[0]?.can?.create === true
  const [adding, setAdding] = useState(false)
  useKey('c', () => may && setAdding(true), may ? { label: words.log } : {})
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
            {words.log} <Kbd>c</Kbd>
          </button>
        )}
      </div>
      <LongList
        found={found}
        size={56}
        row={(decision) => <Row decision={decision} />}
        empty={
          <Empty title={words.none}>
            <p className="soft">{words.noneText}</p>
            {may && (
              <p className="voidact">
                <button type="button" className="btn main" onClick={() => setAdding(true)}>
                  {words.log}
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
          <LogDialog
            onClose={() => setAdding(false)}
            onLogged={(id) => void navigate({ to: '/decisions/$id', params: { id } })}
          />
        </Suspense>
      )}
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
