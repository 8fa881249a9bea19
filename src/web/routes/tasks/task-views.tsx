/** The bars and the views of a page of tasks: of one project, or of all. */
import { Bookmark, ListFilter, Plus } from 'lucide-react'
import { type ReactNode, Suspense, useCallback, useState } from 'react'
import type { TaskItem } from '../../../features/tasks/schema.ts'
import { Kbd, KeyHint, useStatusBarLeft } from '../../components/status-bar.tsx'
import { lazy } from '../../lib/lazy.ts'
import { FilterBar } from './list/filter-bar.tsx'
import type { GroupAdd } from './list/group-head.tsx'
import { GroupedList } from './list/grouped-list.tsx'
import { TaskList, type TaskListProps } from './list/list.tsx'
import { EscapeKey, useTaskPageKeys } from './page-keys.tsx'
import type { PickerField } from './pickers/field.ts'
import { groupingOf, isUnfiltered, noFilters, type TaskGrouping, type TaskSearch, type TaskView } from './search.ts'
import type { TaskSelection } from './selection.ts'
import { SelectionBar } from './selection-bar.tsx'
import { ViewMenus, ViewSwitch } from './view-bar.tsx'
import { words } from './words.ts'

const TaskPanel = lazy(async () => ({ default: (await import('../task/panel.tsx')).TaskPanel }))
const ViewsDialog = lazy(() => import('./views-dialog.tsx'))
const Timeline = lazy(() => import('./list/timeline.tsx'))

const keysOfPage = (
  <>
    <KeyHint keys="c" text={words.keys.create} />
    <KeyHint keys="j k" text={words.keys.move} />
    <KeyHint keys="x" text={words.keys.foot.select} />
    <KeyHint keys="f" text={words.keys.foot.filter} />
    <KeyHint keys="Shift+g" text={words.keys.foot.group} />
  </>
)

interface Props {
  /** The id of a project, or ALL_PROJECTS. */
  scope: string
  title: string
  search: TaskSearch
  narrow(change: Partial<TaskSearch>): void
  may: boolean
  views: readonly TaskView[]
  view: TaskView
  groupings: readonly TaskGrouping[]
  /** How many tasks there are without filters, where that is known. */
  allTasks?: number
  asked?: { field: PickerField; item: TaskItem } | undefined
  onAnswered?(): void
  /** Opens the form for a new task; undefined if none can be added here. */
  onAdd?: (() => void) | undefined
  onAddTo(add: GroupAdd): void
  nothing: ReactNode
  board?(shared: TaskListProps): ReactNode
  graph?(shared: TaskListProps): ReactNode
}

export function TaskViews({ scope, search, narrow, may, view, onAdd, nothing, ...props }: Props) {
  const [picking, setPicking] = useState(false)
  const [dialog, setDialog] = useState(false)
  const [total, setTotal] = useState<number>()
  const open = useCallback((key: string) => narrow({ open: key }), [narrow])
  const { onAnswered } = props
  const answered = useCallback(() => onAnswered?.(), [onAnswered])
  useStatusBarLeft(keysOfPage)
  useTaskPageKeys({
    may: onAdd !== undefined,
    search,
    narrow,
    onAdd: () => onAdd?.(),
    onFilter: () => setPicking(true),
  })
  const bar = (selection: TaskSelection) => (
    <>
      <EscapeKey search={search} selection={selection} narrow={narrow} />
      {may && (
        <SelectionBar
          projectId={scope}
          open={search.open}
          selection={selection}
          asked={props.asked}
          onAnswered={answered}
        />
      )}
    </>
  )
  const clear = () => narrow(noFilters)
  const shared = { scope, search, may, bar, nothing, onOpen: open, onTotal: setTotal, onClear: clear }
  const isBarShown = view === 'list' || view === 'timeline' || picking || !isUnfiltered(search)
  return (
    <>
      <h1 className="hide">{props.title}</h1>
      <ViewBar
        {...{ search, view, views: props.views, groupings: props.groupings, onAdd }}
        onFilter={isBarShown ? undefined : () => setPicking(true)}
        onChange={narrow}
        onViews={() => setDialog(true)}
      />
      {isBarShown && (
        <FilterBar
          {...{ scope, search, total, may, picking }}
          of={props.allTasks}
          onPicking={setPicking}
          onChange={narrow}
          onSave={() => setDialog(true)}
        />
      )}
      <CurrentView {...{ shared, view }} board={props.board} graph={props.graph} onAddTo={props.onAddTo} />
      {search.open && (
        <Suspense>
          <TaskPanel
            key={search.open}
            taskKey={search.open}
            onOpen={open}
            onClose={() => narrow({ open: undefined })}
          />
        </Suspense>
      )}
      {dialog && (
        <Suspense>
          <ViewsDialog scope={scope} may={may} onClose={() => setDialog(false)} />
        </Suspense>
      )}
    </>
  )
}

interface CurrentViewProps extends Pick<Props, 'view' | 'board' | 'graph' | 'onAddTo'> {
  shared: TaskListProps
}

const CurrentView = ({ shared, view, board, graph, onAddTo }: CurrentViewProps) => (
  <Suspense>
    {view === 'board' && board?.(shared)}
    {view === 'list' &&
      (groupingOf(shared.search) === 'none' ? <TaskList {...shared} /> : <GroupedList {...shared} onAdd={onAddTo} />)}
    {view === 'timeline' && <Timeline {...shared} />}
    {view === 'graph' && graph?.(shared)}
  </Suspense>
)

interface ViewBarProps extends Pick<Props, 'search' | 'view' | 'views' | 'groupings' | 'onAdd'> {
  onFilter: (() => void) | undefined
  onChange(change: Partial<TaskSearch>): void
  onViews(): void
}

const ViewBar = ({ search, view, views, groupings, onAdd, onFilter, onChange, onViews }: ViewBarProps) => (
  <div className="viewbar">
    <ViewSwitch views={views} />
    <span className="grow" />
    {onFilter && (
      <button type="button" className="btn quiet small" aria-label={words.filter} onClick={onFilter}>
        <ListFilter className="i s14" aria-hidden />
        <span className="hp">{words.filter}</span>
      </button>
    )}
    <button type="button" className="btn quiet small hp" onClick={onViews}>
      <Bookmark className="i s14" aria-hidden />
      {words.saved.button}
    </button>
    <ViewMenus search={search} view={view} groupings={groupings} onChange={onChange} />
    {onAdd && (
      <button type="button" className="btn main small newtask" onClick={() => onAdd()}>
        <Plus className="i s14" aria-hidden />
        {words.newTask} <Kbd>c</Kbd>
      </button>
    )}
  </div>
)
