import { useInfiniteQuery } from '@tanstack/react-query'
import { useVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, useEffect, useRef } from 'react'
import type { TaskItem } from '../../../features/tasks/schema.ts'
import { PriorityGlyph, StatusGlyph } from '../../components/glyphs.tsx'
import { Avatar } from '../../components/party.tsx'
import { AfterAMoment, NoMatch, ProblemBox, Skeleton } from '../../components/states.tsx'
import { ago } from '../../times.ts'
import { words as common, priorityNames, statusNames } from '../../words.ts'
import { Due, Label } from './card.tsx'
import { listQuery } from './queries.ts'
import { isWhole, type TaskSearch } from './search.ts'
import { words } from './words.ts'

interface Props {
  projectId: string
  search: TaskSearch
  onOpen(key: string): void
  onClear(): void
  /** Shown if the project has no tasks at all. */
  nothing: ReactNode
}

const ROW = 34

/** Only the rows on screen are in the page, and the next ones are loaded when the end comes near. */
export function TaskList({ projectId, search, onOpen, onClear, nothing }: Props) {
  const { data, error, isFetchNextPageError, ...next } = useInfiniteQuery(listQuery(projectId, search))
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = next
  const tasks = data?.pages.flatMap(({ items }) => items) ?? []
  const scroll = useRef<HTMLDivElement>(null)
  const rows = useVirtualizer({
    count: tasks.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => ROW,
    overscan: 6,
  })
  const shown = rows.getVirtualItems()
  const last = shown.at(-1)?.index ?? 0
  useEffect(() => {
    const isNear = hasNextPage && last > tasks.length - 20
    if (isNear && !isFetchingNextPage && !isFetchNextPageError) void fetchNextPage()
  }, [last, tasks.length, hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage])
  if (error && !data) return <ProblemBox error={error} />
  if (!data)
    return (
      <AfterAMoment>
        <Skeleton />
      </AfterAMoment>
    )
  if (tasks.length === 0 && isWhole(search)) return nothing
  if (tasks.length === 0)
    return (
      <div className="querywrap">
        <NoMatch clear={common.clearFilters} onClear={onClear}>
          {words.noMatch}
        </NoMatch>
      </div>
    )
  return (
    <div className="scroll" ref={scroll}>
      <ul className="list" style={{ blockSize: rows.getTotalSize(), position: 'relative' }}>
        {shown.map(({ index, start }) => {
          const task = tasks[index] as TaskItem
          return (
            <li key={task.id} style={{ position: 'absolute', insetInline: 0, transform: `translateY(${start}px)` }}>
              <Row task={task} open={task.key === search.open} onOpen={() => onOpen(task.key)} />
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
  )
}

function Row({ task, open, onOpen }: { task: TaskItem; open: boolean; onOpen(): void }) {
  return (
    <button
      type="button"
      className={`li task${task.status === 'done' ? ' done' : ''}`}
      aria-current={open || undefined}
      onClick={onOpen}
    >
      <StatusGlyph status={task.status} name={statusNames[task.status]} />
      <span className="key">{task.key}</span>
      <PriorityGlyph priority={task.priority} name={words.priorityOf(priorityNames[task.priority])} />
      <span className="ttl cut">{task.title}</span>
      <span className="row tight hp">
        {task.labels.slice(0, 2).map((label) => (
          <Label key={label} name={label} />
        ))}
      </span>
      <span className="hp">{task.dueAt && <Due at={task.dueAt} />}</span>
      <span>{task.assignee && <Avatar party={task.assignee} />}</span>
      <span className="soft t12 num hp">{ago(task.updatedAt)}</span>
    </button>
  )
}
