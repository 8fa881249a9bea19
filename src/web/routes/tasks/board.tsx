/** Columns of cards that are moved by pointer, or by Alt and an arrow key. */
import { autoScrollForElements } from '@atlaskit/pragmatic-drag-and-drop-auto-scroll/element'
import { type RefObject, type UIEvent, useEffect, useRef, useState } from 'react'
import type { TaskGroups } from '../../../features/tasks/list-schema.ts'
import type { TaskItem } from '../../../features/tasks/schema.ts'
import type { Status } from '../../../records/work.ts'
import { statusNames } from '../../words.ts'
import { Column } from './column.tsx'
import type { Group, Move } from './moves.ts'
import type { Selection } from './selection.ts'
import { words } from './words.ts'

export interface BoardProps {
  board: TaskGroups
  /** The key of the task that is open beside the board. */
  open: string | undefined
  onOpen(key: string): void
  onMove(move: Move): void
  onAdd(status: 'backlog' | 'todo'): void
  /** Loads more cards of a column; undefined while it does. */
  onMore: ((group: Group) => void) | undefined
  /** Does so because the end of a column comes near; undefined also where it has just failed. */
  onNear: ((group: Group) => void) | undefined
  /** How to bring a card of each column into view, by its place there. */
  scrollers: RefObject<Map<Status, (place: number) => void>>
  /** The board with moves that are not drawn yet: a second key may come before that. */
  now(): TaskGroups | undefined
  selection: Selection
  /** The card that arrow keys move without Alt. */
  moving: string | undefined
  onMoved(): void
  /** Asks where to move a card, where it cannot be dragged. */
  onMenu(task: TaskItem): void
  /** Whether the reader may add and move cards; the server says so. */
  may: boolean
}

export function Board({ board, ...props }: BoardProps) {
  const [column, setColumn] = useState(board.groups[0]?.value)
  /** The card with the focus: where it moves to another column it becomes a new element, and keeps the focus. */
  const focused = useRef<string>(undefined)
  /** The card that an arrow key has just moved: it stays in view. */
  const stepped = useRef<string>(undefined)
  const strip = useRef<HTMLDivElement>(null)
  useEffect(
    () =>
      strip.current ? autoScrollForElements({ element: strip.current, getAllowedAxis: () => 'horizontal' }) : undefined,
    [],
  )
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
          <Column key={group.value} {...props} group={group} focused={focused} stepped={stepped} />
        ))}
      </div>
    </>
  )
}
