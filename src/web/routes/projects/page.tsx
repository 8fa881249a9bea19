/** The projects of the team: how far each is, what waits at gates, and who is at work. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useRouteContext } from '@tanstack/react-router'
import { Plus, Trash2 } from 'lucide-react'
import { type ReactNode, Suspense, useState } from 'react'
import type { ProjectWork } from '../../../features/projects/schema.ts'
import { ProgressMeter } from '../../components/chart/burn-up-chart.tsx'
import { CopyLine } from '../../components/copy-line.tsx'
import { LongList } from '../../components/list/long-list.tsx'
import { EmptyState } from '../../components/states.tsx'
import { Kbd } from '../../components/status-bar.tsx'
import { lazy } from '../../lib/lazy.ts'
import { useKey } from '../../shortcuts.ts'
import { projectListQuery } from './queries.ts'
import { words } from './words.ts'

const CreateProject = lazy(() => import('./create.tsx'))
const route = getRouteApi('/inside/projects')

const ROW = 56

export function ProjectsPage() {
  const { team } = useRouteContext({ from: '/inside' })
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const found = useInfiniteQuery(projectListQuery(team.id, search))
  const may = found.data?.pages[0]?.can?.create === true
  const [adding, setAdding] = useState(false)
  useKey('c', () => may && setAdding(true), { label: words.newProject })
  const add = may && (
    <button type="button" className="btn main small newtask" onClick={() => setAdding(true)}>
      <Plus className="i s14" aria-hidden />
      {words.newProject} <Kbd>c</Kbd>
    </button>
  )
  return (
    <>
      <div className="viewbar">
        <h1 className="h2">{words.title}</h1>
        <div className="seg" role="group" aria-label={words.which}>
          {([undefined, 'archived'] as const).map((status) => (
            <button
              key={status ?? 'active'}
              type="button"
              aria-pressed={search.status === status}
              onClick={() => void navigate({ search: (before) => ({ ...before, status }) })}
            >
              {status ? words.archived : words.active}
            </button>
          ))}
        </div>
        <input
          className="input slim"
          type="search"
          aria-label={words.find}
          placeholder={words.find}
          defaultValue={search.q}
          onChange={({ currentTarget: { value } }) =>
            void navigate({ replace: true, search: (before) => ({ ...before, q: value || undefined }) })
          }
        />
        <span className="grow" />
        <Link className="btn small quiet" to="/trash" aria-label={words.trash}>
          <Trash2 className="i s14" aria-hidden />
          <span className="hp">{words.trash}</span>
        </Link>
        {add}
      </div>
      <LongList
        found={found}
        size={ROW}
        row={(project) => <Row project={project} />}
        noMatch={search.q ? words.noMatch : undefined}
        onClear={() => void navigate({ search: (before) => ({ ...before, q: undefined }) })}
        empty={search.status ? <NoneArchived /> : <None>{add}</None>}
      />
      {adding && (
        <Suspense>
          <CreateProject onClose={() => setAdding(false)} />
        </Suspense>
      )}
    </>
  )
}

type Counted = 'tasks' | 'tasksDone' | 'tasksDoneByAgents' | 'openGates' | 'agentsAtWork'

interface ListedProject {
  id: string
  slug: string
  key: string
  name: string
  color: string
  description: string | null
  stats?: Pick<ProjectWork, Counted> | undefined
}

function Row({ project: { slug, key, name, color, description, stats } }: { project: ListedProject }) {
  return (
    <Link className="recrow prow" to="/projects/$slug" params={{ slug }}>
      <span className={`pdot ${color}`} />
      <span className="pkey soft t12">{key}</span>
      <span className="grow stack s1">
        <b className="b5 cut">{name}</b>
        {description && <span className="soft t12 cut">{description}</span>}
      </span>
      {stats && stats.agentsAtWork > 0 && <span className="flag agent hp">{words.agents(stats.agentsAtWork)}</span>}
      {stats && stats.openGates > 0 && <span className="flag info hp">{words.gates(stats.openGates)}</span>}
      {stats && stats.tasks > 0 && <Done {...stats} />}
      {stats && <span className="soft t12 num stat">{words.done(stats.tasksDone, stats.tasks)}</span>}
    </Link>
  )
}

const Done = ({ tasks, tasksDone, tasksDoneByAgents }: Pick<ProjectWork, Counted>) => (
  <ProgressMeter all={tasks} agents={tasksDoneByAgents} people={tasksDone - tasksDoneByAgents} />
)

const None = ({ children }: { children: ReactNode }) => (
  <EmptyState title={words.none}>
    <p className="soft">{words.noneText}</p>
    <p className="row voidact">{children}</p>
    <div className="sheet ways">
      <CopyLine label={words.say} text={words.sayText} say />
      <CopyLine label={words.terminal} text={words.command} />
    </div>
  </EmptyState>
)

const NoneArchived = () => (
  <EmptyState title={words.noneArchived}>
    <p className="soft">{words.noneArchivedText}</p>
  </EmptyState>
)
