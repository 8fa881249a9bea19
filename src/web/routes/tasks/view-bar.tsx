/** The switch between views, the sort menu and the search field. */
import { getRouteApi, Link } from '@tanstack/react-router'
import { ArrowUpDown, ChartGantt, List, SquareKanban, Waypoints } from 'lucide-react'
import { LazyMenu } from '../../components/lazy-menu.tsx'
import { type TaskSearch, type TaskSort, type TaskView, taskSorts, taskViews } from './search.ts'
import { words } from './words.ts'

const route = getRouteApi('/inside/projects/$slug/tasks')

const icons = { board: SquareKanban, list: List, timeline: ChartGantt, graph: Waypoints } satisfies Record<
  TaskView,
  unknown
>

export function ViewSwitch() {
  const { slug } = route.useParams()
  return (
    <div className="seg views" role="group" aria-label={words.view}>
      {taskViews.map((name) => {
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

export function SortMenu({ search, onChange }: { search: TaskSearch; onChange(change: Partial<TaskSearch>): void }) {
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
    <LazyMenu
      trigger={button}
      entries={[
        ...(byHand ? [{ value: '', label: words.sorts.none, chosen: search.sort === undefined }] : []),
        ...taskSorts.map((sort) => ({ value: sort, label: words.sorts[sort], chosen: search.sort === sort })),
      ]}
      onChoose={(sort) => onChange({ sort: (sort || undefined) as TaskSort | undefined })}
    />
  )
}

export const TaskSearchField = ({
  search,
  onChange,
}: {
  search: TaskSearch
  onChange(change: Partial<TaskSearch>): void
}) => (
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
      placeholder={words.findHere}
      aria-label={words.find}
    />
  </form>
)
