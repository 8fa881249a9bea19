/** Columns of cards that are moved by pointer, or by Alt and an arrow key. */
import { dropTargetForElements } from '@atlaskit/pragmatic-drag-and-drop/element/adapter'
import { extractClosestEdge } from '@atlaskit/pragmatic-drag-and-drop-hitbox/closest-edge'
import { Plus } from 'lucide-react'
import { type RefObject, type UIEvent, useEffect, useRef, useState } from 'react'
import type { TaskGroups } from '../../../features/tasks/list-schema.ts'
import type { TaskItem } from '../../../features/tasks/schema.ts'
import type { Status } from '../../../records/work.ts'
import { StatusGlyph } from '../../components/glyphs.tsx'
import { statusNames } from '../../words.ts'
import { Card, type Step } from './board-card.tsx'
import type { Move } from './queries.ts'
import type { Selection } from './selection.ts'
import { words } from './words.ts'

type Group = TaskGroups['groups'][number]

interface BoardProps {
  board: TaskGroups
  /** The key of the task that is open beside the board. */
  open: string | undefined
  onOpen(key: string): void
  onMove(move: Move): void
  onAdd(status: Status): void
  /** Loads more cards of every column; undefined where a column cannot show more. */
  onMore: (() => void) | undefined
  selection: Selection
  /** The card that arrow keys move without Alt. */
  moving: string | undefined
  onMoved(): void
  /** Asks where to move a card, where it cannot be dragged. */
  onMenu(task: TaskItem): void
  /** Whether the reader may add and move cards; the server says so. */
  may: boolean
}

export function Board(props: BoardProps) {
  const { board } = props
  const [column, setColumn] = useState(board.groups[0]?.value)
  /** The card with the focus: where it moves to another column it becomes a new element, and keeps the focus. */
  const focused = useRef<string>(undefined)
  const strip = useRef<HTMLDivElement>(null)
  const show = (status: Status) => {
    setColumn(status)
    strip.current?.querySelector(`[data-column=${status}]`)?.scrollIntoView({ inline: 'start', block: 'nearest' })
  }
  /** On a phone one column fills the screen, and swiping changes it. */
  const follow = ({ currentTarget: { scrollLeft, clientWidth } }: UIEvent) =>
    setColumn(board.groups[Math.round(scrollLeft / clientWidth)]?.value)
  return (
    <>
      <div className="phonecols seg" role="group" aria-label={words.column}>
        {board.groups.map(({ value, total }) => (
          <button key={value} type="button" aria-pressed={value === column} onClick={() => show(value)}>
            {statusNames[value]} {total}
          </button>
        ))}
      </div>
      <div className="board" ref={strip} onScroll={follow}>
        {board.groups.map((group) => (
          <Column key={group.value} {...props} group={group} focused={focused} />
        ))}
      </div>
    </>
  )
}

interface ColumnProps extends BoardProps {
  group: Group
  focused: RefObject<string | undefined>
}

function Column({ group, focused, ...props }: ColumnProps) {
  const { board, open, onOpen, onMove, onAdd, may, selection, moving } = props
  const name = statusNames[group.value]
  const canAdd = may && (group.value === 'backlog' || group.value === 'todo')
  const { list, over } = useDrops(group, onMove)
  /** What cards call must know the board as it is then, although unchanged cards are not drawn anew. */
  const latest = useRef(board)
  latest.current = board
  return (
    <section className="col" aria-label={words.columnOf(name, group.total)} data-column={group.value}>
      <header>
        <StatusGlyph status={group.value} />
        <h2>{name}</h2>
        <span className="n">{group.total}</span>
        {canAdd && <AddButton name={name} onAdd={() => onAdd(group.value)} />}
      </header>
      <ol ref={list} className={over ? 'over' : undefined}>
        {group.items.map((task) => (
          <Card
            key={task.id}
            task={task}
            open={task.key === open}
            chosen={selection.ids.has(task.id)}
            moving={moving === task.id}
            may={may}
            focused={focused}
            on={{
              open: () => onOpen(task.key),
              point: () => selection.point(task.id),
              choose: (range) => selection.toggle(task.id, range),
              menu: () => props.onMenu(task),
              moved: props.onMoved,
              step: (step) => {
                const move = stepped(latest.current, task, step)
                if (move) onMove(move)
              },
            }}
          />
        ))}
        {group.total > group.items.length && (
          <li>
            <button type="button" className="addrow" disabled={!props.onMore} onClick={props.onMore}>
              {words.more(group.total - group.items.length)}
            </button>
          </li>
        )}
      </ol>
    </section>
  )
}

const AddButton = ({ name, onAdd }: { name: string; onAdd(): void }) => (
  <button type="button" className="ib s24 end" aria-label={words.addTo(name)} onClick={onAdd}>
    <Plus className="i s14" aria-hidden />
  </button>
)

/** Makes a column one that cards can be dropped on. */
function useDrops(group: Group, onMove: BoardProps['onMove']) {
  const list = useRef<HTMLOListElement>(null)
  const [over, setOver] = useState(false)
  useEffect(() => {
    if (!list.current) return
    return dropTargetForElements({
      element: list.current,
      getData: () => ({ status: group.value }),
      onDragEnter: () => setOver(true),
      onDragLeave: () => setOver(false),
      onDrop: ({ source, location }) => {
        setOver(false)
        const [innermost] = location.current.dropTargets
        const task = source.data.task as TaskItem
        const beside = innermost?.data.task as TaskItem | undefined
        onMove({
          task,
          status: group.value,
          after: placeIn(group, task, beside, extractClosestEdge(innermost?.data ?? {})),
        })
      },
    })
  }, [group, onMove])
  return { list, over }
}

/** The card above the place where one was dropped: the card it was dropped on, or the one before that. */
function placeIn(group: Group, task: TaskItem, beside: TaskItem | undefined, edge: string | null): TaskItem | null {
  const others = group.items.filter(({ id }) => id !== task.id)
  if (!beside || beside.id === task.id) return others.at(-1) ?? null
  const place = others.findIndex(({ id }) => id === beside.id)
  return (edge === 'top' ? others[place - 1] : others[place]) ?? null
}

/** The move that an arrow key makes; undefined at the edge of the board. */
export function stepped(board: TaskGroups, task: TaskItem, step: Step): Move | undefined {
  const column = board.groups.findIndex(({ items }) => items.some(({ id }) => id === task.id))
  const group = board.groups[column]
  if (!group) return undefined
  const place = group.items.findIndex(({ id }) => id === task.id)
  if (step === 'up') return place > 0 ? { task, status: group.value, after: group.items[place - 2] ?? null } : undefined
  if (step === 'down') {
    const below = group.items[place + 1]
    return below && { task, status: group.value, after: below }
  }
  const next = board.groups[column + (step === 'left' ? -1 : 1)]
  return next && { task, status: next.value, after: next.items[Math.min(place, next.items.length) - 1] ?? null }
}
