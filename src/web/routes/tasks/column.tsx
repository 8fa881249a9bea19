/** A column of the board. Only the cards on screen are in the page, and more are loaded when the end comes near. */
import { combine } from '@atlaskit/pragmatic-drag-and-drop/combine'
import { dropTargetForElements } from '@atlaskit/pragmatic-drag-and-drop/element/adapter'
import { autoScrollForElements } from '@atlaskit/pragmatic-drag-and-drop-auto-scroll/element'
import { extractClosestEdge } from '@atlaskit/pragmatic-drag-and-drop-hitbox/closest-edge'
import { getRouteApi, Link } from '@tanstack/react-router'
import { defaultRangeExtractor, type Range, useVirtualizer, type VirtualItem } from '@tanstack/react-virtual'
import { ChevronDown, Plus } from 'lucide-react'
import { memo, type ReactNode, type RefObject, useEffect, useLayoutEffect, useRef, useState } from 'react'
import type { TaskGroups } from '../../../features/tasks/lists/list-schema.ts'
import type { TaskItem } from '../../../features/tasks/schema.ts'
import type { Status } from '../../../records/task-states.ts'
import { StatusGlyph } from '../../components/glyphs.tsx'
import { statusNames } from '../../words.ts'
import { AddTasks } from './add/add-tasks.tsx'
import { isAddable } from './add/values.ts'
import { BoardCard } from './board-card.tsx'
import { type BoardGroup, type CardMove, cardAboveDrop, stepCard } from './moves.ts'
import { MOST_IN_COLUMN } from './queries.ts'
import type { TaskSearch } from './search.ts'
import type { TaskSelection } from './selection.ts'
import { words } from './words.ts'

const route = getRouteApi('/inside/projects/$slug/tasks')

/** The space between cards, as the style sheet has it, and about how high a card is. */
const [GAP, CARD] = [6, 84]

/** What the board gets from its page, and passes to its columns. */
export interface BoardProps {
  board: TaskGroups
  /** The key of the task that is open beside the board. */
  open: string | undefined
  onOpen(key: string): void
  onMove(move: CardMove): void
  onAdd(status: 'backlog' | 'todo'): void
  /** Where tasks are added at the end of a column, with the values of the filters. */
  project: string
  search: TaskSearch
  /** Shows the tasks that were done before this week. */
  onOlder(): void
  /** Loads more cards of a column; undefined while it does. */
  onMore: ((group: BoardGroup) => void) | undefined
  /** Does so because the end of a column comes near; undefined also where it has just failed. */
  onNear: ((group: BoardGroup) => void) | undefined
  /** How to bring a card of each column into view, by its place there. */
  scrollers: RefObject<Map<Status, (place: number) => void>>
  /** The board with moves that are not drawn yet: a second key may come before that. */
  now(): TaskGroups | undefined
  selection: TaskSelection
  /** The card that arrow keys move without Alt. */
  moving: string | undefined
  onMoved(): void
  /** Opens the menu of a card at its button. */
  onMenu(task: TaskItem, button: Element): void
  /** Whether the reader may add and move cards; the server says so. */
  may: boolean
}

interface ColumnProps extends Omit<BoardProps, 'board'> {
  group: BoardGroup
  focused: RefObject<string | undefined>
  stepped: RefObject<string | undefined>
}

/** A move draws only the columns that it changes: all that a column is given stays the same otherwise. */
export const BoardColumn = memo(function Column({ group, focused, stepped, ...props }: ColumnProps) {
  const { open, onOpen, onMove, onAdd, may, selection, moving, now } = props
  const name = statusNames[group.value]
  const adds = may && (group.value === 'backlog' || group.value === 'todo') && group.value
  const { list, over } = useDrops(group, onMove)
  const rows = useRows({ ...props, group, list, focused, stepped })
  const card = ({ index }: VirtualItem) => {
    const task = group.items[index] as TaskItem
    return (
      <BoardCard
        key={task.id}
        task={task}
        place={index}
        all={group.total}
        measure={rows.measureElement}
        open={task.key === open}
        chosen={selection.ids.has(task.id)}
        moving={moving === task.id}
        may={may}
        focused={focused}
        on={{
          open: () => onOpen(task.key),
          point: () => selection.point(task.id),
          choose: (range) => selection.toggle(task.id, range),
          menu: (button) => props.onMenu(task, button),
          moved: props.onMoved,
          step: (step) => {
            const board = now()
            const move = board && stepCard(board, task.id, step)
            stepped.current = task.id
            if (move) onMove(move)
          },
        }}
      />
    )
  }
  return (
    <section className="col" aria-label={words.columnOf(name, group.total)} data-column={group.value}>
      <header>
        <StatusGlyph status={group.value} />
        <h2>{name}</h2>
        <span className="n">{group.older === undefined ? group.total : words.thisWeek(group.total)}</span>
        {adds && <AddButton name={name} onAdd={() => onAdd(adds)} />}
      </header>
      <ol
        ref={list}
        className={over ? 'over' : undefined}
        onWheel={() => {
          stepped.current = undefined
        }}
      >
        {withSpacers(rows.getVirtualItems(), rows.getTotalSize(), card)}
        {group.nextCursor && <More group={group} onMore={props.onMore} />}
        {group.older ? <Older n={group.older} onShow={props.onOlder} /> : null}
        {may && isAddable(group.value) && <Add group={group} project={props.project} search={props.search} />}
      </ol>
    </section>
  )
})

interface RowsOptions extends Pick<ColumnProps, 'group' | 'open' | 'focused' | 'stepped' | 'onNear' | 'scrollers'> {
  list: RefObject<HTMLOListElement | null>
}

/** Decides which cards are in the page: those on screen, the one with the focus and the one that is open. */
function useRows({ group, list, open, focused, stepped, onNear, scrollers }: RowsOptions) {
  const { items, value, nextCursor } = group
  const isKept = ({ id, key }: TaskItem) => id === focused.current || key === open
  const rows = useVirtualizer({
    count: items.length,
    getScrollElement: () => list.current,
    getItemKey: (index) => items[index]?.id ?? index,
    estimateSize: () => CARD,
    initialRect: { width: 0, height: 600 },
    gap: GAP,
    overscan: 3,
    rangeExtractor: (range: Range) => {
      const kept = items.flatMap((task, place) => (isKept(task) ? [place] : []))
      return [...new Set([...defaultRangeExtractor(range), ...kept])].toSorted((a, b) => a - b)
    },
  })
  const isNear = nextCursor !== null && (rows.range?.endIndex ?? 0) > items.length - 10
  useEffect(() => {
    if (isNear && items.length < MOST_IN_COLUMN) onNear?.(group)
  }, [isNear, items.length, group, onNear])
  useEffect(() => {
    const all = scrollers.current
    all.set(value, (place) => rows.scrollToIndex(place))
    return () => void all.delete(value)
  }, [scrollers, value, rows])
  const moved = items.findIndex(({ id }) => id === stepped.current && id === focused.current)
  useLayoutEffect(() => {
    if (moved >= 0) rows.scrollToIndex(moved)
  }, [moved, rows])
  return rows
}

/** Cards in the flow of the column, with empty space where others are not in the page. */
function withSpacers(
  shown: readonly VirtualItem[],
  total: number,
  card: (item: VirtualItem) => ReactNode,
): ReactNode[] {
  const nodes: ReactNode[] = []
  let end = -GAP
  const space = (until: number) => {
    if (until - end > GAP + 1)
      nodes.push(<li key={`until ${until}`} aria-hidden style={{ blockSize: until - end - 2 * GAP }} />)
  }
  for (const item of shown) {
    space(item.start)
    nodes.push(card(item))
    end = item.end
  }
  space(total + GAP)
  return nodes
}

/** Loads more of a column; a very long one goes on in the list. */
function More({ group: { value, total, items }, onMore, group }: Pick<ColumnProps, 'group' | 'onMore'>) {
  const { slug } = route.useParams()
  return (
    <li>
      {items.length < MOST_IN_COLUMN ? (
        <button type="button" className="addrow" disabled={!onMore} onClick={() => onMore?.(group)}>
          {words.more(total - items.length)}
        </button>
      ) : (
        <Link
          className="addrow"
          from="/projects/$slug/tasks"
          to="/projects/$slug/tasks"
          params={{ slug }}
          search={(before) => ({ ...before, view: 'list', status: value })}
        >
          {words.rest(total - items.length)}
        </Link>
      )}
    </li>
  )
}

const Older = ({ n, onShow }: { n: number; onShow(): void }) => (
  <li>
    <button type="button" className="addrow" onClick={onShow}>
      <ChevronDown className="i s14" aria-hidden />
      {words.older(n)}
    </button>
  </li>
)

const Add = ({ group: { value, items }, ...at }: Pick<ColumnProps, 'group' | 'project' | 'search'>) => (
  <li>
    <AddTasks
      {...at}
      name={statusNames[value]}
      values={isAddable(value) ? { status: value } : {}}
      above={items.length}
    />
  </li>
)

const AddButton = ({ name, onAdd }: { name: string; onAdd(): void }) => (
  <button type="button" className="ib s24 end" aria-label={words.newIn(name)} onClick={onAdd}>
    <Plus className="i s14" aria-hidden />
  </button>
)

/** Makes a column one that cards can be dropped on, and that scrolls while a card is held near its ends. */
function useDrops(group: BoardGroup, onMove: BoardProps['onMove']) {
  const list = useRef<HTMLOListElement>(null)
  const [over, setOver] = useState(false)
  const shown = useRef(group)
  shown.current = group
  useEffect(() => {
    const element = list.current
    if (!element) return
    return combine(
      autoScrollForElements({ element, getAllowedAxis: () => 'vertical' }),
      dropTargetForElements({
        element,
        onDragEnter: () => setOver(true),
        onDragLeave: () => setOver(false),
        onDrop: ({ source, location }) => {
          setOver(false)
          const [innermost] = location.current.dropTargets
          const task = source.data.task as TaskItem
          const beside = innermost?.data.task as TaskItem | undefined
          const after = cardAboveDrop(shown.current, task, beside, extractClosestEdge(innermost?.data ?? {}))
          onMove({ task, status: shown.current.value, after })
        },
      }),
    )
  }, [onMove])
  return { list, over }
}
