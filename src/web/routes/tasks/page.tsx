/** One query over the tasks of a project, shown as a board, a list, a timeline or a graph; a task opens beside it. */
import { useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { Bookmark, ListFilter, Plus } from 'lucide-react'
import { Suspense, useCallback, useState } from 'react'
import type { TaskItem } from '../../../features/tasks/schema.ts'
import { EmptyState } from '../../components/states.tsx'
import { Kbd, useStatusBarLeft } from '../../components/status-bar.tsx'
import { lazy } from '../../lib/lazy.ts'
import { projectQuery } from '../project/queries.ts'
import { BoardView } from './board-view.tsx'
import { CreateTaskDialog } from './create.tsx'
import type { PickerField } from './field-picker.tsx'
import { TaskList } from './list.tsx'
import { EscapeKey, useTaskPageKeys } from './page-keys.tsx'
import { QueryChips } from './query-chips.tsx'
import { isUnfiltered, noFilters, type TaskSearch } from './search.ts'
import type { TaskSelection } from './selection.ts'
import { SelectionBar } from './selection-bar.tsx'
import { SortMenu, TaskSearchField, ViewSwitch } from './view-bar.tsx'
import { words } from './words.ts'

const TaskPanel = lazy(async () => ({ default: (await import('../task/panel.tsx')).TaskPanel }))
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
    {words.keys.foot.select}
    <Kbd>f</Kbd>
    {words.keys.foot.filter}
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
  const [asked, setAsked] = useState<{ field: PickerField; item: TaskItem }>()
  const narrow = useCallback(
    (change: Partial<TaskSearch>) => void navigate({ search: (before) => ({ ...before, ...change }) }),
    [navigate],
  )
  const open = useCallback((key: string) => narrow({ open: key }), [narrow])
  const askWhere = useCallback((item: TaskItem) => setAsked({ field: 'status', item }), [])
  useStatusBarLeft(keysOfPage)
  const view = search.view ?? 'board'
  useTaskPageKeys({ may, search, narrow, onAdd: () => setAdding('todo'), onFilter: () => setDialog('filter') })
  const nothing = <Nothing project={project} onAdd={setAdding} may={may} />
  const bar = (selection: TaskSelection) => (
    <>
      <EscapeKey search={search} selection={selection} narrow={narrow} />
      {may && (
        <SelectionBar
          projectId={project.id}
          selection={selection}
          asked={asked}
          onAnswered={() => setAsked(undefined)}
        />
      )}
    </>
  )
  const clear = () => narrow(noFilters)
  const shared = { project, search, may, bar, nothing, onOpen: open, onTotal: setTotal, onClear: clear }
  return (
    <>
      <h1 className="hide">{words.title(project.name)}</h1>
      <ViewBar search={search} may={may} onChange={narrow} onDialog={setDialog} onAdd={() => setAdding('todo')} />
      {(view === 'list' || view === 'timeline' || !isUnfiltered(search)) && (
        <QueryChips
          project={project}
          search={search}
          total={total}
          onChange={narrow}
          onFilter={() => setDialog('filter')}
        />
      )}
      <Suspense>
        {view === 'board' && <BoardView {...shared} onAdd={setAdding} onMenu={askWhere} />}
        {view === 'list' && <TaskList {...shared} projectId={project.id} />}
        {view === 'timeline' && <Timeline {...shared} projectId={project.id} />}
        {view === 'graph' && <GraphView {...shared} />}
      </Suspense>
      {search.open && (
        <Suspense>
          <TaskPanel key={search.open} taskKey={search.open} onClose={() => narrow({ open: undefined })} />
        </Suspense>
      )}
      {adding && <CreateTaskDialog project={project} status={adding} onClose={() => setAdding(undefined)} />}
      <Suspense>
        {dialog === 'filter' && (
          <FilterDialog projectId={project.id} search={search} onChange={narrow} onClose={() => setDialog(undefined)} />
        )}
        {dialog === 'views' && <ViewsDialog project={project} may={may} onClose={() => setDialog(undefined)} />}
      </Suspense>
    </>
  )
}

interface ViewBarProps {
  search: TaskSearch
  may: boolean
  onChange(change: Partial<TaskSearch>): void
  onDialog(dialog: 'filter' | 'views'): void
  onAdd(): void
}

function ViewBar({ search, may, onChange, onDialog, onAdd }: ViewBarProps) {
  const { view = 'board' } = search
  return (
    <div className="viewbar">
      <ViewSwitch />
      <TaskSearchField search={search} onChange={onChange} />
      <span className="grow" />
      {(view === 'board' || view === 'graph') && isUnfiltered(search) && (
        <button type="button" className="btn quiet small" aria-label={words.filter} onClick={() => onDialog('filter')}>
          <ListFilter className="i s14" aria-hidden />
          <span className="hp">{words.filter}</span>
        </button>
      )}
      <button type="button" className="btn quiet small hp" onClick={() => onDialog('views')}>
        <Bookmark className="i s14" aria-hidden />
        {words.saved.button}
      </button>
      <SortMenu search={search} onChange={onChange} />
      {may && (
        <button type="button" className="btn main small newtask" onClick={onAdd}>
          <Plus className="i s14" aria-hidden />
          {words.newTask} <Kbd>c</Kbd>
        </button>
      )}
    </div>
  )
}

interface NothingProps {
  project: { key: string }
  onAdd(status: 'todo'): void
  may: boolean
}

const Nothing = ({ project, onAdd, may }: NothingProps) => (
  <div className="scroll">
    <EmptyState title={words.emptyTitle}>
      <p className="soft">{words.emptyText}</p>
      {may && (
        <p className="voidact">
          <button type="button" className="btn main" onClick={() => onAdd('todo')}>
            {words.newTask}
          </button>
        </p>
      )}
      <code className="code">{words.emptyCommand(project.key)}</code>
    </EmptyState>
  </div>
)
