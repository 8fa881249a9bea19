/** Columns of cards that are moved by pointer, or by Alt and an arrow key. */
import { autoScrollForElements } from '@atlaskit/pragmatic-drag-and-drop-auto-scroll/element'
import { type UIEvent, useEffect, useRef, useState } from 'react'
import type { Status } from '../../../records/task-states.ts'
import { firstColumn, rememberColumn, useFirstColumn } from '../../lib/phone-column.ts'
import { statusNames } from '../../words.ts'
import { BoardColumn, type BoardProps } from './column.tsx'
import { words } from './words.ts'

export function Board({ board, ...props }: BoardProps) {
  const [column, setColumn] = useState(() => firstColumn(board.groups))
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
  useFirstColumn(strip, column)
  useEffect(() => rememberColumn(column), [column])
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
          <BoardColumn key={group.value} {...props} group={group} focused={focused} stepped={stepped} />
        ))}
      </div>
    </>
  )
}
