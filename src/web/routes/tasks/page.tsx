/** One query over the tasks of a project, shown as a board, a list, a timeline or a graph; a task opens beside it. */
import { useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { Bookmark, ListFilter, Plus } from 'lucide-react'
import { Suspense, useCallback, useState } from 'react'
import type { TaskItem } from '../../../features/tasks/schema.ts'
import { Kbd, useFootLeft } from '../../components/foot.tsx'
import { Empty } from '../../components/states.tsx'
import { lazy } from '../../lazy.ts'
import { projectQuery } from '../project/queries.ts'
import { ActBar } from './act-bar.tsx'
import { BoardView } from './board-view.tsx'
import { CreateDialog } from './create.tsx'
import { TaskList } from './list.tsx'
import { EscapeKey, useKeysOfPage } from './page-keys.tsx'
import type { PickerField } from './picker.tsx'
import { QueryChips } from './query-chips.tsx'
import { isWhole, none, type TaskSearch } from './search.ts'
import type { Selection } from './selection.ts'
import { Find, SortMenu, ViewSwitch } from './view-bar.tsx'
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
        {(view === 'board' || view === 'graph') && isWhole(search) && (
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
      {(view === 'list' || view === 'timeline' || !isWhole(search)) && (
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
