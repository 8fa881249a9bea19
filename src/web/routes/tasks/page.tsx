/** One query over the tasks of a project, shown as a board, a list, a timeline or a graph; a task opens beside it. */
import { useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { ArrowUpDown, Bookmark, ChartGantt, List, ListFilter, Plus, SquareKanban, Waypoints } from 'lucide-react'
import { lazy, Suspense, useCallback, useState } from 'react'
import type { TaskItem } from '../../../features/tasks/schema.ts'
import { Kbd, useFootLeft } from '../../components/foot.tsx'
import { Empty } from '../../components/states.tsx'
import { toast } from '../../components/toasts.tsx'
import { copyText } from '../../copy.ts'
import { useCommands } from '../../keys.ts'
import { projectQuery } from '../project/queries.ts'
import { ActBar } from './act-bar.tsx'
import { BoardView } from './board-view.tsx'
import { CreateDialog } from './create.tsx'
import { TaskList } from './list.tsx'
import type { Field } from './picker.tsx'
import { QueryChips } from './query-chips.tsx'
import { isWhole, none, type Sort, sorts, type TaskSearch, type View, views } from './search.ts'
import type { Selection } from './selection.ts'
import { words } from './words.ts'

const TaskPanel = lazy(async () => ({ default: (await import('../task/panel.tsx')).TaskPanel }))
const Menu = lazy(async () => ({ default: (await import('../../components/menu.tsx')).Menu }))
const FilterDialog = lazy(() => import('./filter-dialog.tsx'))
const ViewsDialog = lazy(() => import('./views-dialog.tsx'))
const Timeline = lazy(() => import('./timeline.tsx'))
const GraphView = lazy(() => import('./graph.tsx'))

const route = getRouteApi('/inside/projects/$slug/tasks')

const keysOfPage = (
  <span className="row">
    <Kbd>c</Kbd>
    {words.keys.create}
    <Kbd>j</Kbd>
    <Kbd>k</Kbd>
    {words.keys.move}
    <Kbd>x</Kbd>
    {words.keys.select}
    <Kbd>f</Kbd>
    {words.keys.filter}
  </span>
)

export function TasksPage() {
  const { slug } = route.useParams()
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const project = useSuspenseQuery(projectQuery(slug)).data
  const may = project.can?.write === true
  const [adding, setAdding] = useState<'backlog' | 'todo'>()
  const [dialog, setDialog] = useState<'filter' | 'views'>()
  const [total, setTotal] = useState<number>()
  const [asked, setAsked] = useState<{ field: Field; item: TaskItem }>()
  const narrow = useCallback(
    (change: Partial<TaskSearch>) => void navigate({ search: (before) => ({ ...before, ...change }) }),
    [navigate],
  )
  const open = useCallback((key: string) => narrow({ open: key }), [narrow])
  useFootLeft(keysOfPage)
  const view = search.view ?? 'board'
  useKeysOfPage({ may, search, narrow, onAdd: () => setAdding('todo'), onFilter: () => setDialog('filter') })
  const nothing = <Nothing project={project} onAdd={setAdding} may={may} />
  const bar = (selection: Selection) => (
    <>
      <EscapeKey search={search} selection={selection} narrow={narrow} />
      {may && (
        <ActBar projectId={project.id} selection={selection} asked={asked} onAnswered={() => setAsked(undefined)} />
      )}
    </>
  )
  const shared = { project, search, may, bar, nothing, onOpen: open, onTotal: setTotal, onClear: () => narrow(none) }
  return (
    <>
      <h1 className="hide">{words.title(project.name)}</h1>
      <div className="viewbar">
        <ViewSwitch />
        <Find search={search} onChange={narrow} />
        <span className="grow" />
        {view === 'board' && isWhole(search) && (
          <button
            type="button"
            className="btn quiet small"
            aria-label={words.filter}
            onClick={() => setDialog('filter')}
          >
            <ListFilter className="i s14" aria-hidden />
            <span className="hp">{words.filter}</span>
          </button>
        )}
        <button type="button" className="btn quiet small hp" onClick={() => setDialog('views')}>
          <Bookmark className="i s14" aria-hidden />
          {words.saved.button}
        </button>
        <SortMenu search={search} onChange={narrow} />
        {may && (
          <button type="button" className="btn main small newtask" onClick={() => setAdding('todo')}>
            <Plus className="i s14" aria-hidden />
            {words.newTask} <Kbd>c</Kbd>
          </button>
        )}
      </div>
      {(view !== 'board' || !isWhole(search)) && (
        <QueryChips
          project={project}
          search={search}
          total={view === 'graph' ? undefined : total}
          onChange={narrow}
          onFilter={() => setDialog('filter')}
        />
      )}
      <Suspense>
        {view === 'board' && (
          <BoardView {...shared} onAdd={setAdding} onMenu={(item) => setAsked({ field: 'status', item })} />
        )}
        {view === 'list' && <TaskList {...shared} projectId={project.id} />}
        {view === 'timeline' && <Timeline {...shared} projectId={project.id} />}
        {view === 'graph' && <GraphView project={project} open={search.open} onOpen={open} />}
      </Suspense>
      {search.open && (
        <Suspense>
          <TaskPanel key={search.open} taskKey={search.open} onClose={() => narrow({ open: undefined })} />
        </Suspense>
      )}
      {adding && <CreateDialog project={project} status={adding} onClose={() => setAdding(undefined)} />}
      <Suspense>
        {dialog === 'filter' && (
          <FilterDialog projectId={project.id} search={search} onChange={narrow} onClose={() => setDialog(undefined)} />
        )}
        {dialog === 'views' && <ViewsDialog project={project} may={may} onClose={() => setDialog(undefined)} />}
      </Suspense>
    </>
  )
}

interface KeysProps {
  may: boolean
  search: TaskSearch
  narrow(change: Partial<TaskSearch>): void
  onAdd(): void
  onFilter(): void
}

function useKeysOfPage({ may, search, narrow, onAdd, onFilter }: KeysProps): void {
  const navigate = route.useNavigate()
  const copy = async (text: string) => {
    await copyText(text)
    toast({ title: words.copied })
  }
  /** The key of the open task, else of the one with the focus. */
  const key = () =>
    search.open ?? document.activeElement?.closest('[data-task]')?.getAttribute('aria-label')?.split(' ')[0]
  useCommands([
    ...(may ? [{ keys: 'c', label: words.newTask, run: onAdd }] : []),
    { keys: 'f', label: words.keys.filter, run: onFilter },
    ...views.map((view, place) => ({
      keys: String(place + 1),
      label: words.views[view],
      run: () => narrow({ view: view === 'board' ? undefined : view }),
    })),
    { keys: '$mod+.', label: words.keys.copyKey, run: () => void copy(key() ?? location.href) },
    {
      keys: '$mod+Shift+,',
      label: words.keys.copyLink,
      run: () => void copy(key() ? new URL(`/tasks/${key()}`, location.href).href : location.href),
    },
    ...(search.open
      ? [
          {
            keys: 'Enter',
            label: words.keys.page,
            run: () => void navigate({ to: '/tasks/$key', params: { key: search.open ?? '' } }),
          },
        ]
      : []),
  ])
}

/** Escape clears the selection first, then closes what is open. */
function EscapeKey({
  search,
  selection,
  narrow,
}: {
  search: TaskSearch
  selection: Selection
  narrow(change: Partial<TaskSearch>): void
}) {
  useCommands([
    {
      keys: 'Escape',
      run: () => {
        if (selection.ids.size > 0) selection.clear()
        else if (search.open) narrow({ open: undefined })
      },
    },
  ])
  return null
}

interface NothingProps {
  project: { key: string }
  onAdd(status: 'todo'): void
  may: boolean
}

const Nothing = ({ project, onAdd, may }: NothingProps) => (
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

const icons = { board: SquareKanban, list: List, timeline: ChartGantt, graph: Waypoints } satisfies Record<
  View,
  unknown
>

function ViewSwitch() {
  const { slug } = route.useParams()
  return (
    <div className="seg views" role="group" aria-label={words.view}>
      {views.map((name) => {
        const Icon = icons[name]
        return (
          <Link
            key={name}
            from="/projects/$slug/tasks"
            to="/projects/$slug/tasks"
            params={{ slug }}
            search={(before) => ({ ...before, view: name === 'board' ? undefined : name })}
            activeOptions={{ includeSearch: true, explicitUndefined: true }}
            aria-label={words.views[name]}
          >
            <Icon className="i s14" aria-hidden />
            <span>{words.views[name]}</span>
          </Link>
        )
      })}
    </div>
  )
}

function SortMenu({ search, onChange }: { search: TaskSearch; onChange(change: Partial<TaskSearch>): void }) {
  if (search.view === 'graph') return null
  const byHand = (search.view ?? 'board') === 'board'
  const label = search.sort ? words.sorts[search.sort] : byHand ? words.sorts.none : words.sorts.updatedAt
  const button = (
    <button type="button" className="btn quiet small hp">
      <ArrowUpDown className="i s14" aria-hidden />
      <span className="hide">{words.sort}: </span>
      {label}
    </button>
  )
  return (
    <Suspense fallback={button}>
      <Menu
        trigger={button}
        entries={[
          ...(byHand ? [{ value: '', label: words.sorts.none, chosen: search.sort === undefined }] : []),
          ...sorts.map((sort) => ({ value: sort, label: words.sorts[sort], chosen: search.sort === sort })),
        ]}
        onChoose={(sort) => onChange({ sort: (sort || undefined) as Sort | undefined })}
      />
    </Suspense>
  )
}

const Find = ({ search, onChange }: { search: TaskSearch; onChange(change: Partial<TaskSearch>): void }) => (
  <form
    role="search"
    onSubmit={(event) => {
      event.preventDefault()
      const q = new FormData(event.currentTarget).get('q')
      onChange({ q: typeof q === 'string' && q.trim() !== '' ? q.trim() : undefined })
    }}
  >
    <input
      key={search.q ?? ''}
      className="input slim"
      name="q"
      type="search"
      defaultValue={search.q}
      placeholder={words.find}
      aria-label={words.find}
    />
  </form>
)
