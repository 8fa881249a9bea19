/** The board of the page's query: its states, its moves, and what is selected on it. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useCallback, useEffect, useMemo, useRef, useState } from 'react'
import type { TaskGroups } from '../../../features/tasks/lists/list-schema.ts'
import type { TaskItem } from '../../../features/tasks/schema.ts'
import type { Status } from '../../../records/task-states.ts'
import { AfterAMoment, NoMatch, ProblemBox, Skeleton } from '../../components/states.tsx'
import { useSetStatusBar } from '../../components/status-bar.tsx'
import { toast } from '../../components/toasts.tsx'
import { useCommands } from '../../shortcuts.ts'
import { words as common, statusNames } from '../../words.ts'
import { Board } from './board.tsx'
import type { CardMove } from './moves.ts'
import { boardQuery, useMoreCards, useMoveCard } from './queries.ts'
import { isUnfiltered, type TaskSearch } from './search.ts'
import { focusTask, type TaskSelection, useSelection } from './selection.ts'
import { words } from './words.ts'

interface Props {
  project: { id: string; slug: string }
  search: TaskSearch
  may: boolean
  bar(selection: TaskSelection): ReactNode
  nothing: ReactNode
  onOpen(key: string): void
  onTotal(total: number | undefined): void
  onClear(): void
  onAdd(status: 'backlog' | 'todo'): void
  onMenu(task: TaskItem, button: Element): void
}

export function BoardView({ project, search, may, bar, nothing, onOpen, onTotal, onClear, onAdd, onMenu }: Props) {
  const [older, setOlder] = useState(false)
  const showOlder = useCallback(() => setOlder(true), [])
  const more = useMoreCards(project.id, search, older)
  const query = boardQuery(project.id, search, more.depths, older)
  const { data: board, error, isPlaceholderData } = useQuery(query)
  // What is shown until the answer comes is of another query: its cursors do not fit this one.
  const loadMore = more.isLoading || isPlaceholderData ? undefined : more.load
  const items = useMemo(() => board?.groups.flatMap((group) => group.items) ?? [], [board])
  const { scrollers, reveal } = useReveal(board)
  const selection = useSelection({ items, reveal, open: search.open })
  const move = useMove(project.id, search, query)
  const [moving, setMoving] = useMoving(may, selection)
  const stay = useCallback(() => setMoving(undefined), [setMoving])
  const now = useNow(query.queryKey)
  const total = board?.groups.reduce((sum, group) => sum + group.total + (group.older ?? 0), 0)
  useEffect(() => onTotal(total), [onTotal, total])
  if (error && !board) return <ProblemBox error={error} />
  if (!board) return <Loading />
  if (total === 0 && isUnfiltered(search)) return nothing
  if (total === 0)
    return (
      <div className="querywrap">
        <NoMatch clear={common.clearFilters} onClear={onClear}>
          {words.noMatch}
        </NoMatch>
      </div>
    )
  return (
    <>
      <Board
        board={board}
        now={now}
        open={search.open}
        onOpen={onOpen}
        onMove={move}
        onAdd={onAdd}
        onOlder={showOlder}
        project={project.slug}
        search={search}
        onMore={loadMore}
        onNear={more.isFailed ? undefined : loadMore}
        scrollers={scrollers}
        selection={selection}
        moving={moving}
        onMoved={stay}
        onMenu={onMenu}
        may={may}
      />
      {bar(selection)}
    </>
  )
}

const Loading = () => (
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

/** Moves a card, and tells where it went, or that it had to go back. */
function useMove(projectId: string, search: TaskSearch, query: ReturnType<typeof boardQuery>) {
  const set = useSetStatusBar()
  const mutate = useMoveCard(projectId, search, query, ({ task }, problem) => {
    set({ right: words.movedBack(task.key) })
    toast({ title: words.movedBack(task.key), text: problem.message, bad: true })
  })
  const isNewestFirst = search.sort === undefined
  return useCallback(
    ({ task, status, after }: CardMove) => {
      // The order of Done is the order in which tasks were completed.
      const isOrdered = status === 'done' && isNewestFirst
      if (isOrdered && task.status === 'done') return
      set({ right: words.moved(task.key, statusNames[status]) })
      mutate({ task, status, after: isOrdered ? undefined : after })
    },
    [mutate, set, isNewestFirst],
  )
}

/** Returns a function, always the same one, that returns the board as it is known when it is called. */
function useNow(queryKey: ReturnType<typeof boardQuery>['queryKey']) {
  const cache = useQueryClient()
  const shown = useRef(queryKey)
  shown.current = queryKey
  return useCallback(() => cache.getQueryData(shown.current), [cache])
}

/** Brings a card into view, which its column does. */
function useReveal(board: TaskGroups | undefined) {
  const scrollers = useRef(new Map<Status, (place: number) => void>())
  const reveal = (index: number) => {
    let place = index
    for (const { value, items } of board?.groups ?? []) {
      if (place < items.length) return scrollers.current.get(value)?.(place)
      place -= items.length
    }
  }
  return { scrollers, reveal }
}

/** `m` lets the arrow keys move the card that has the focus. */
function useMoving(may: boolean, selection: TaskSelection) {
  const set = useSetStatusBar()
  const [moving, setMoving] = useState<string>()
  useCommands(
    may
      ? [
          {
            keys: 'm',
            label: words.keys.moveByArrows,
            scope: 'list',
            run: () => {
              const [task] = selection.targets()
              if (!task) return
              setMoving(task.id)
              focusTask(task.id)
              set({ right: words.moving(task.key) })
            },
          },
        ]
      : [],
  )
  return [moving, setMoving] as const
}
