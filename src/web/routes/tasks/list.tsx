/** The tasks as rows. Only those on screen are in the page, and the next ones are loaded when the end comes near. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { useVirtualizer } from '@tanstack/react-virtual'
import { Check, Hourglass } from 'lucide-react'
import { memo, type ReactNode, useEffect, useMemo, useRef } from 'react'
import type { TaskItem } from '../../../features/tasks/schema.ts'
import { useTaskLease } from '../../claimed-tasks.ts'
import { Avatar, LeaseRing } from '../../components/avatar.tsx'
import { PriorityGlyph, StatusGlyph } from '../../components/glyphs.tsx'
import { NewItemsPill, useStableOrder } from '../../components/list/stable-order.tsx'
import { AfterAMoment, NoMatch, ProblemBox, Skeleton } from '../../components/states.tsx'
import { ago, minutesUntil, shareLeft } from '../../lib/times.ts'
import { words as common, priorityNames, statusNames } from '../../words.ts'
import { DueDate, LabelTag } from './card.tsx'
import { listQuery } from './queries.ts'
import { isUnfiltered, type TaskSearch } from './search.ts'
import { type TaskSelection, useSelection } from './selection.ts'
import { words } from './words.ts'

interface Props {
  projectId: string
  search: TaskSearch
  may: boolean
  onOpen(key: string): void
  onClear(): void
  onTotal(total: number | undefined): void
  /** Shown if the project has no tasks at all. */
  nothing: ReactNode
  /** What is shown over the list while rows are selected. */
  bar(selection: TaskSelection): ReactNode
  /** How a row looks (default: as in a list). */
  row?: (task: TaskItem, tasks: readonly TaskItem[]) => ReactNode
  /** What is shown above the rows, in their columns. */
  head?: (tasks: readonly TaskItem[]) => ReactNode
}

/** The height of a row, as the style sheet has it: on a phone it is high enough for a finger. */
const rowSize = (): number => (matchMedia('(max-width: 767px)').matches ? 44 : 34)

export function TaskList({ projectId, search, may, onOpen, onClear, onTotal, nothing, bar, row, head }: Props) {
  const { found, tasks, waiting, showAll } = useTasks(projectId, search)
  const { data, error, isFetchNextPageError, hasNextPage, isFetchingNextPage, fetchNextPage } = found
  const scroll = useRef<HTMLDivElement>(null)
  const rows = useVirtualizer({
    count: tasks.length,
    getScrollElement: () => scroll.current,
    estimateSize: rowSize,
    overscan: 4,
  })
  const selection = useSelection({ items: tasks, reveal: (index) => rows.scrollToIndex(index) })
  const shown = rows.getVirtualItems()
  const last = shown.at(-1)?.index ?? 0
  useEffect(() => {
    const isNear = hasNextPage && last > tasks.length - 20
    if (isNear && !isFetchingNextPage && !isFetchNextPageError) void fetchNextPage()
  }, [last, tasks.length, hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage])
  const total = data?.pages[0]?.total
  useEffect(() => onTotal(total), [onTotal, total])
  if (error && !data) return <ProblemBox error={error} />
  if (!data)
    return (
      <AfterAMoment>
        <div className="querywrap">
          <Skeleton />
        </div>
      </AfterAMoment>
    )
  if (tasks.length === 0 && isUnfiltered(search)) return nothing
  if (tasks.length === 0) return <NoneMatch onClear={onClear} />
  const clear = selection.ids.size > 0
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
      <div className="scroll" ref={scroll}>
        <ul
          className={clear ? 'list many' : 'list'}
          style={{ blockSize: rows.getTotalSize(), position: 'relative' }}
          aria-label={words.tasks}
        >
          {shown.map(({ index, start }) => {
            const task = tasks[index] as TaskItem
            return (
              <li key={task.id} style={{ position: 'absolute', insetInline: 0, transform: `translateY(${start}px)` }}>
                <Row
                  task={task}
                  open={task.key === search.open}
                  chosen={selection.ids.has(task.id)}
                  may={may}
                  selection={selection}
                  onOpen={onOpen}
                  {...(row && { children: row(task, tasks) })}
                />
              </li>
            )
          })}
        </ul>
        {isFetchNextPageError && (
          <ProblemBox error={error as Error}>
            <button type="button" className="btn small" onClick={() => void fetchNextPage()}>
              {common.tryAgain}
            </button>
          </ProblemBox>
        )}
      </div>
      {bar(selection)}
    </>
  )
}

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

const NoneMatch = ({ onClear }: { onClear(): void }) => (
  <div className="querywrap">
    <NoMatch clear={common.clearFilters} onClear={onClear}>
      {words.noMatch}
    </NoMatch>
  </div>
)

/** What is loaded of the list, and the rows to show: those that others add wait. */
function useTasks(projectId: string, search: TaskSearch) {
  const query = listQuery(projectId, search)
  const found = useInfiniteQuery(query)
  const items = useMemo(() => found.data?.pages.flatMap((page) => page.items) ?? [], [found.data])
  const { shown: tasks, waiting, showAll } = useStableOrder(items, JSON.stringify(query.queryKey))
  return { found, tasks, waiting, showAll }
}

interface RowProps {
  task: TaskItem
  open: boolean
  chosen: boolean
  may: boolean
  selection: TaskSelection
  onOpen(key: string): void
  children?: ReactNode
}

const Row = memo(function Row({ task, open, chosen, may, selection, onOpen, children }: RowProps) {
  return (
    <div className={`li task${task.status === 'done' ? ' done' : ''}${chosen ? ' chosen' : ''}`}>
      {may && (
        <button
          type="button"
          role="checkbox"
          aria-checked={chosen}
          aria-label={words.selectOne(task.key)}
          className={chosen ? 'box on' : 'box'}
          onClick={(event) => selection.toggle(task.id, event.shiftKey)}
        >
          {chosen && <Check className="i s12" aria-hidden />}
        </button>
      )}
      <button
        type="button"
        className="rowlink"
        data-task={task.id}
        aria-current={open || undefined}
        onFocus={() => selection.point(task.id)}
        onClick={(event) =>
          event.shiftKey || event.metaKey || event.ctrlKey
            ? selection.toggle(task.id, event.shiftKey)
            : onOpen(task.key)
        }
      >
        <PriorityGlyph priority={task.priority} name={words.priorityOf(priorityNames[task.priority])} />
        <span className="key">{task.key}</span>
        <StatusGlyph status={task.status} name={statusNames[task.status]} />
        <span className="ttl cut">{task.title}</span>
        {children ?? <Facts task={task} />}
      </button>
    </div>
  )
})

const Facts = ({ task }: { task: TaskItem }) => (
  <>
    <span className="row tight hp cut">
      {task.labels.slice(0, 2).map((label) => (
        <LabelTag key={label} name={label} />
      ))}
    </span>
    <span className="hp">
      {task.blockedBy.length > 0 && (
        <span className="waits">
          <Hourglass className="i s12" aria-hidden />
          {words.waitsFor(task.blockedBy.length)}
        </span>
      )}
    </span>
    <span className="hp">{task.lease && <Holder id={task.id} lease={task.lease} />}</span>
    <span>{task.assignee && <Avatar party={task.assignee} />}</span>
    <span className="hp">{task.dueAt && <DueDate at={task.dueAt} />}</span>
  </>
)

/** Who works on it, how much of the lease is left, and when they last changed anything. */
function Holder({ id, lease }: { id: string; lease: NonNullable<TaskItem['lease']> }) {
  const { stalled, lastChangeAt } = useTaskLease(id) ?? {}
  const change = lastChangeAt && ago(lastChangeAt)
  return (
    <span className={stalled ? 'row tight stalled' : 'row tight'}>
      <LeaseRing party={lease.holder} left={shareLeft(lease.lastSeenAt, lease.expiresAt)} />
      <span className={stalled ? 't12 warn b5 cut' : 't12 soft cut'} title={common.lastChange}>
        {stalled && change ? words.unchangedFor(change) : words.leaseLine(minutesUntil(lease.expiresAt), change)}
      </span>
    </span>
  )
}
