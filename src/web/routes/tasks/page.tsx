/** One query over the tasks of a project, shown as a board or a list; a task opens beside it. */
import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { List, Plus, SquareKanban, X } from 'lucide-react'
import { lazy, Suspense, useCallback, useState } from 'react'
import type { Status } from '../../../records/work.ts'
import { Kbd, useFoot, useFootLeft } from '../../components/foot.tsx'
import { AfterAMoment, Empty, NoMatch, ProblemBox, Skeleton } from '../../components/states.tsx'
import { toast } from '../../components/toasts.tsx'
import { useCommands, useKey } from '../../keys.ts'
import { words as common, priorityNames, statusNames } from '../../words.ts'
import { projectQuery } from '../project/queries.ts'
import { Board } from './board.tsx'
import { CreateDialog } from './create.tsx'
import { FilterMenu } from './filters.tsx'
import { TaskList } from './list.tsx'
import { boardQuery, type Move, useMove } from './queries.ts'
import { filtersOf, type TaskSearch } from './search.ts'
import { words } from './words.ts'

const TaskPanel = lazy(async () => ({ default: (await import('../task/panel.tsx')).TaskPanel }))

const route = getRouteApi('/inside/projects/$slug/tasks')

const keysOfBoard = (
  <span className="row">
    <Kbd>c</Kbd>
    {words.keys.create}
    <Kbd>Alt</Kbd>
    <Kbd>↑↓←→</Kbd>
    {words.keys.move}
  </span>
)

export function TasksPage() {
  const { slug } = route.useParams()
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const project = useSuspenseQuery(projectQuery(slug)).data
  const may = project.can?.write === true
  const [adding, setAdding] = useState<'backlog' | 'todo'>()
  const narrow = useCallback(
    (change: Partial<TaskSearch>) => void navigate({ search: (before) => ({ ...before, ...change }) }),
    [navigate],
  )
  useCommands(may ? [{ keys: 'c', label: words.newTask, run: () => setAdding('todo') }] : [])
  useKey('Escape', () => narrow({ open: undefined }))
  useFootLeft(keysOfBoard)
  const view = search.view ?? 'board'
  return (
    <>
      <h1 className="hide">{words.title(project.name)}</h1>
      <div className="viewbar">
        <ViewSwitch />
        <FilterMenu search={search} onChange={narrow} />
        <Chips search={search} onChange={narrow} />
        <span className="grow" />
        {may && (
          <button type="button" className="btn main small newtask" onClick={() => setAdding('todo')}>
            <Plus className="i s14" aria-hidden />
            {words.newTask} <Kbd>c</Kbd>
          </button>
        )}
      </div>
      {view === 'board' ? (
        <BoardView project={project} search={search} narrow={narrow} onAdd={setAdding} may={may} />
      ) : (
        <TaskList
          projectId={project.id}
          search={search}
          onOpen={(open) => narrow({ open })}
          onClear={() => narrow(none)}
          nothing={<Nothing project={project} onAdd={setAdding} may={may} />}
        />
      )}
      {search.open && (
        <Suspense>
          <TaskPanel key={search.open} taskKey={search.open} onClose={() => narrow({ open: undefined })} />
        </Suspense>
      )}
      {adding && <CreateDialog project={project} status={adding} onClose={() => setAdding(undefined)} />}
    </>
  )
}

const none: Partial<TaskSearch> = {
  q: undefined,
  priority: undefined,
  label: undefined,
  assignee: undefined,
  status: undefined,
}

interface BoardViewProps {
  project: { id: string; slug: string; key: string }
  search: TaskSearch
  narrow(change: Partial<TaskSearch>): void
  onAdd(status: 'backlog' | 'todo'): void
  may: boolean
}

function BoardView({ project, search, narrow, onAdd, may }: BoardViewProps) {
  const { set } = useFoot()
  const { data: board, error } = useQuery(boardQuery(project.id, search))
  const { mutate } = useMove(project.id, search, ({ task }, problem) => {
    set({ right: words.movedBack(task.key) })
    toast({ title: words.movedBack(task.key), text: problem.message, bad: true })
  })
  const move = useCallback(
    (next: Move) => {
      set({ right: words.moved(next.task.key, statusNames[next.status]) })
      mutate(next)
    },
    [mutate, set],
  )
  if (error && !board) return <ProblemBox error={error} />
  if (!board)
    return (
      <AfterAMoment>
        <div className="board">
          {['a', 'b', 'c', 'd', 'e'].map((column) => (
            <div key={column} className="col stack">
              <Skeleton />
              <Skeleton />
            </div>
          ))}
        </div>
      </AfterAMoment>
    )
  if (board.groups.every(({ total }) => total === 0))
    return Object.keys(filtersOf(search)).length > 0 ? (
      <div className="querywrap">
        <NoMatch clear={common.clearFilters} onClear={() => narrow(none)}>
          {words.noMatch}
        </NoMatch>
      </div>
    ) : (
      <Nothing project={project} onAdd={onAdd} may={may} />
    )
  return (
    <Board
      board={board}
      open={search.open}
      onOpen={(open) => narrow({ open })}
      onMove={move}
      onAdd={(status: Status) => onAdd(status as 'backlog' | 'todo')}
      may={may}
    />
  )
}

const Nothing = ({ project, onAdd, may }: Pick<BoardViewProps, 'project' | 'onAdd' | 'may'>) => (
  <div className="scroll">
    <Empty title={words.emptyTitle}>
      <p className="soft">{words.emptyText}</p>
      {may && (
        <p className="voidact">
          <button type="button" className="btn main" onClick={() => onAdd('todo')}>
            {words.newTask}
          </button>
        </p>
      )}
      <code className="code">{words.emptyCommand(project.key)}</code>
    </Empty>
  </div>
)

function ViewSwitch() {
  const { slug } = route.useParams()
  return (
    <div className="seg" role="group" aria-label={words.view}>
      {(['board', 'list'] as const).map((name) => (
        <Link
          key={name}
          from="/projects/$slug/tasks"
          to="/projects/$slug/tasks"
          params={{ slug }}
          search={(before) => ({ ...before, view: name === 'board' ? undefined : name })}
          activeOptions={{ includeSearch: true, explicitUndefined: true }}
        >
          {name === 'board' ? <SquareKanban className="i s14" aria-hidden /> : <List className="i s14" aria-hidden />}
          {words.views[name]}
        </Link>
      ))}
    </div>
  )
}

/** The filters in force, each with a button that removes it. */
function Chips({ search, onChange }: { search: TaskSearch; onChange(change: Partial<TaskSearch>): void }) {
  const chips = [
    search.q && ({ name: 'q', label: 'text', value: search.q } as const),
    search.priority && ({ name: 'priority', label: 'priority', value: priorityNames[search.priority] } as const),
    search.label && ({ name: 'label', label: 'label', value: search.label } as const),
    search.view === 'list' &&
      search.status &&
      ({ name: 'status', label: 'state', value: statusNames[search.status] } as const),
    search.assignee && ({ name: 'assignee', label: 'assignee', value: search.assignee } as const),
  ]
  return chips
    .filter((chip) => typeof chip === 'object')
    .map(({ name, label, value }) => (
      <button
        key={name}
        type="button"
        className="chip"
        aria-label={words.remove(`${label} ${value}`)}
        onClick={() => onChange({ [name]: undefined })}
      >
        <span>{label}</span>
        <b>{value}</b>
        <X className="i s12" aria-hidden />
      </button>
    ))
}
