/** The switch between views, and the menus that group, sort and show columns. */
import { Link } from '@tanstack/react-router'
import { ArrowUpDown, ChartGantt, List, Rows3, SlidersHorizontal, SquareKanban, Waypoints } from 'lucide-react'
import { LazyMenu } from '../../components/lazy-menu.tsx'
import { useCommands } from '../../shortcuts.ts'
import {
  columnsOf,
  groupingOf,
  type TaskColumn,
  type TaskGrouping,
  type TaskSearch,
  type TaskSort,
  type TaskView,
  taskColumns,
  taskGroupings,
  taskSorts,
  toggleColumn,
} from './search.ts'
import { words } from './words.ts'

const icons = { board: SquareKanban, list: List, timeline: ChartGantt, graph: Waypoints } satisfies Record<
  TaskView,
  unknown
>

/** The first view is the one of an address that names none. */
export const ViewSwitch = ({ views }: { views: readonly TaskView[] }) => (
  <div className="seg views" role="group" aria-label={words.view}>
    {views.map((name) => {
      const Icon = icons[name]
      return (
        <Link
          key={name}
          to="."
          search={(before: object) => ({ ...before, view: name === views[0] ? undefined : name })}
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

interface Props {
  search: TaskSearch
  view: TaskView
  /** What the list can be grouped by. */
  groupings?: readonly TaskGrouping[]
  onChange(change: Partial<TaskSearch>): void
}

/** Opens a menu by its key, as a click on its button does. */
const openMenu = (name: string) => document.querySelector<HTMLElement>(`[data-menu="${name}"]`)?.click()

export function ViewMenus({ search, view, groupings = taskGroupings, onChange }: Props) {
  const isList = view === 'list'
  const group = groupingOf(search)
  useCommands([
    ...(isList ? [{ keys: 'Shift+G', label: words.keys.group, run: () => openMenu('group') }] : []),
    ...(view === 'graph' ? [] : [{ keys: 'Shift+S', label: words.keys.sort, run: () => openMenu('sort') }]),
  ])
  return (
    <>
      {isList && (
        <LazyMenu
          trigger={
            <button type="button" className="btn quiet small hp" data-menu="group">
              <Rows3 className="i s14" aria-hidden />
              {words.group}: {words.groups[group]}
            </button>
          }
          entries={groupings.map((value) => ({ value, label: words.groups[value], chosen: value === group }))}
          onChoose={(value) => onChange({ group: value === 'status' ? undefined : (value as TaskGrouping) })}
        />
      )}
      {view !== 'graph' && <SortMenu search={search} view={view} onChange={onChange} />}
      {isList && <DisplayMenu search={search} onChange={onChange} />}
    </>
  )
}

function SortMenu({ search, view, onChange }: Props) {
  const isByHand = view === 'board' || (view === 'list' && groupingOf(search) !== 'none')
  const first: TaskSort = isByHand ? 'position' : 'updatedAt'
  const sort = search.sort ?? first
  return (
    <LazyMenu
      trigger={
        <button type="button" className="btn quiet small hp" data-menu="sort">
          <ArrowUpDown className="i s14" aria-hidden />
          {words.sort}: {words.sorts[sort]}
        </button>
      }
      entries={taskSorts.map((value) => ({ value, label: words.sorts[value], chosen: value === sort }))}
      onChoose={(value) => onChange({ sort: value === first ? undefined : (value as TaskSort) })}
    />
  )
}

function DisplayMenu({ search, onChange }: Pick<Props, 'search' | 'onChange'>) {
  const shown = columnsOf(search)
  return (
    <LazyMenu
      trigger={
        <button type="button" className="btn quiet small hp">
          <SlidersHorizontal className="i s14" aria-hidden />
          {words.display}
        </button>
      }
      entries={taskColumns.map((value) => ({
        value,
        label: words.columns[value],
        chosen: shown.has(value),
        stays: true,
      }))}
      onChoose={(value) => onChange({ show: toggleColumn(search, value as TaskColumn) })}
    />
  )
}
