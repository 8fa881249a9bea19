/** The tasks as rows, in groups or as one list. The next ones are loaded when the end comes near. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { type ReactNode, useEffect, useMemo } from 'react'
import type { TaskItem } from '../../../../features/tasks/schema.ts'
import { NewItemsPill, useStableOrder } from '../../../components/list/stable-order.tsx'
import { AfterAMoment, NoMatch, ProblemBox, Skeleton } from '../../../components/states.tsx'
import { words as common } from '../../../words.ts'
import { inScope, listQuery } from '../queries.ts'
import { isUnfiltered, type TaskSearch, taskFilters } from '../search.ts'
import type { TaskSelection } from '../selection.ts'
import { words } from '../words.ts'
import { TaskRows, useTaskRows } from './rows.tsx'

export interface TaskListProps {
  /** The id of a project, or ALL_PROJECTS. */
  scope: string
  search: TaskSearch
  may: boolean
  onOpen(key: string): void
  onClear(): void
  onTotal(total: number | undefined): void
  /** Shown if the project has no tasks at all. */
  nothing: ReactNode
  /** What is shown over the list while rows are selected. */
  bar(selection: TaskSelection): ReactNode
}

interface Props extends TaskListProps {
  /** How a row looks (default: as in a list). */
  row?: (task: TaskItem, tasks: readonly TaskItem[]) => ReactNode
  /** What is shown above the rows, in their columns. */
  head?: (tasks: readonly TaskItem[]) => ReactNode
}

export function TaskList({ scope, search, may, onOpen, onClear, onTotal, nothing, bar, row, head }: Props) {
  const { found, tasks, waiting, showAll } = useTasks(scope, search)
  const { data, error, isFetchNextPageError, hasNextPage, isFetchingNextPage, fetchNextPage } = found
  const total = data?.pages[0]?.total
  const lines = useMemo(() => tasks.map((task) => ({ key: task.id, task })), [tasks])
  const view = useTaskRows(lines, useMatching(scope, search, total), search.open)
  const { last, rows } = view
  useEffect(() => {
    const isNear = hasNextPage && last > tasks.length - 20
    if (isNear && !isFetchingNextPage && !isFetchNextPageError) void fetchNextPage()
  }, [last, tasks.length, hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage])
  useEffect(() => onTotal(total), [onTotal, total])
  if (error && !data) return <ProblemBox error={error} />
  if (!data) return <ListLoading />
  if (tasks.length === 0 && isUnfiltered(search)) return nothing
  if (tasks.length === 0) return <NoneMatch onClear={onClear} />
  return (
    <>
      <NewItemsPill
        n={waiting}
        onShow={() => {
          showAll()
          rows.scrollToOffset(0)
        }}
      >
        {words.news(waiting)}
      </NewItemsPill>
      {head && <Head may={may}>{head(tasks)}</Head>}
      <TaskRows
        lines={lines}
        view={view}
        search={search}
        may={may}
        onOpen={onOpen}
        row={row && ((task) => row(task, tasks))}
      >
        {isFetchNextPageError && (
          <ProblemBox error={error as Error}>
            <button type="button" className="btn small" onClick={() => void fetchNextPage()}>
              {common.tryAgain}
            </button>
          </ProblemBox>
        )}
      </TaskRows>
      {bar(view.selection)}
    </>
  )
}

/** All tasks that match, for a selection that is a query. */
export function useMatching(scope: string, search: TaskSearch, count: number | undefined) {
  const where = JSON.stringify({ ...taskFilters(search), ...inScope(scope) })
  return useMemo(
    () => (count === undefined ? undefined : { where: JSON.parse(where) as Record<string, unknown>, count }),
    [where, count],
  )
}

export const ListLoading = () => (
  <AfterAMoment>
    <div className="querywrap">
      <Skeleton />
    </div>
  </AfterAMoment>
)

/** A line in the columns of the rows. */
const Head = ({ may, children }: { may: boolean; children: ReactNode }) => (
  <div className="li task hp" aria-hidden>
    {may && <span className="box" />}
    <span className="rowlink">
      <svg width="16" height="1" aria-hidden />
      <span />
      <span />
      <span />
      {children}
    </span>
  </div>
)

export const NoneMatch = ({ onClear }: { onClear(): void }) => (
  <div className="querywrap">
    <NoMatch clear={common.clearFilters} onClear={onClear}>
      {words.noMatch}
    </NoMatch>
  </div>
)

/** What is loaded of the list, and the rows to show: those that others add wait. */
function useTasks(scope: string, search: TaskSearch) {
  const query = listQuery(scope, search)
  const found = useInfiniteQuery(query)
  const items = useMemo(() => found.data?.pages.flatMap((page) => page.items) ?? [], [found.data])
  const { shown: tasks, waiting, showAll } = useStableOrder(items, JSON.stringify(query.queryKey))
  return { found, tasks, waiting, showAll }
}
