/** Columns of cards that are moved by pointer, or by Alt and an arrow key. */
import { combine } from '@atlaskit/pragmatic-drag-and-drop/combine'
import { draggable, dropTargetForElements } from '@atlaskit/pragmatic-drag-and-drop/element/adapter'
import { attachClosestEdge, extractClosestEdge } from '@atlaskit/pragmatic-drag-and-drop-hitbox/closest-edge'
import { Link } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { type KeyboardEvent, type ReactNode, type RefObject, type UIEvent, useEffect, useRef, useState } from 'react'
import type { TaskGroups } from '../../../features/tasks/list-schema.ts'
import type { TaskItem } from '../../../features/tasks/schema.ts'
import type { Status } from '../../../records/work.ts'
import { StatusGlyph } from '../../components/glyphs.tsx'
import { statusNames } from '../../words.ts'
import { CardBody } from './card.tsx'
import type { Move } from './queries.ts'
import { words } from './words.ts'

type Group = TaskGroups['groups'][number]

interface BoardProps {
  board: TaskGroups
  /** The key of the task that is open beside the board. */
  open: string | undefined
  onOpen(key: string): void
  onMove(move: Move): void
  onAdd(status: Status): void
  /** Whether the reader may add and move cards; the server says so. */
  may: boolean
}

export function Board({ board, open, onOpen, onMove, onAdd, may }: BoardProps) {
  const [column, setColumn] = useState(board.groups[0]?.value)
  /** The card that keys have just moved: it is a new element in its new column, and keeps the focus. */
  const stepping = useRef<string>(undefined)
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
          <Column
            key={group.value}
            group={group}
            board={board}
            open={open}
            onOpen={onOpen}
            onMove={onMove}
            onAdd={onAdd}
            may={may}
            stepping={stepping}
          />
        ))}
      </div>
    </>
  )
}

interface ColumnProps extends BoardProps {
  group: Group
  stepping: RefObject<string | undefined>
}

function Column({ group, board, open, onOpen, onMove, onAdd, may, stepping }: ColumnProps) {
  const name = statusNames[group.value]
  const canAdd = may && (group.value === 'backlog' || group.value === 'todo')
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
  return (
    <section className="col" aria-label={words.columnOf(name, group.total)} data-column={group.value}>
      <header>
        <StatusGlyph status={group.value} />
        <h2>{name}</h2>
        <span className="n">{group.total}</span>
        {canAdd && (
          <button
            type="button"
            className="ib s24 end"
            aria-label={words.addTo(name)}
            onClick={() => onAdd(group.value)}
          >
            <Plus className="i s14" aria-hidden />
          </button>
        )}
      </header>
      <ol ref={list} className={over ? 'over' : undefined}>
        {group.items.map((task) => (
          <Card
            key={task.id}
            task={task}
            open={task.key === open}
            onOpen={() => onOpen(task.key)}
            may={may}
            stepping={stepping}
            onStep={(step) => {
              const move = stepped(board, task, step)
              if (!move) return
              stepping.current = task.id
              onMove(move)
            }}
          />
        ))}
        {group.total > group.items.length && <More status={group.value} n={group.total - group.items.length} />}
      </ol>
    </section>
  )
}

/** A column shows its first cards; the list shows them all. */
const More = ({ status, n }: { status: Status; n: number }) => (
  <li>
    <Link
      className="addrow"
      from="/projects/$slug/tasks"
      to="."
      search={(before) => ({ ...before, view: 'list', status })}
    >
      {words.more(n)}
    </Link>
  </li>
)

/** The card above the place where one was dropped: the card it was dropped on, or the one before that. */
function placeIn(group: Group, task: TaskItem, beside: TaskItem | undefined, edge: string | null): TaskItem | null {
  const others = group.items.filter(({ id }) => id !== task.id)
  if (!beside || beside.id === task.id) return others.at(-1) ?? null
  const place = others.findIndex(({ id }) => id === beside.id)
  return (edge === 'top' ? others[place - 1] : others[place]) ?? null
}

export type Step = 'up' | 'down' | 'left' | 'right'

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

const arrows: Record<string, Step> = { ArrowUp: 'up', ArrowDown: 'down', ArrowLeft: 'left', ArrowRight: 'right' }

function Card({
  task,
  open,
  may,
  stepping,
  onOpen,
  onStep,
}: {
  task: TaskItem
  open: boolean
  may: boolean
  stepping: RefObject<string | undefined>
  onOpen(): void
  onStep(step: Step): void
}) {
  const element = useRef<HTMLLIElement>(null)
  const cover = useRef<HTMLButtonElement>(null)
  useEffect(() => {
    if (stepping.current !== task.id) return
    stepping.current = undefined
    cover.current?.focus()
  }, [stepping, task.id])
  const [edge, setEdge] = useState<string | null>(null)
  const [held, setHeld] = useState(false)
  useEffect(() => {
    const card = element.current
    if (!card) return
    return combine(
      draggable({
        element: card,
        canDrag: () => may,
        getInitialData: () => ({ task }),
        onDragStart: () => setHeld(true),
        onDrop: () => setHeld(false),
      }),
      dropTargetForElements({
        element: card,
        canDrop: ({ source }) => (source.data.task as TaskItem).id !== task.id,
        getData: ({ input, element }) =>
          attachClosestEdge({ task }, { input, element, allowedEdges: ['top', 'bottom'] }),
        onDrag: ({ self }) => setEdge(extractClosestEdge(self.data)),
        onDragLeave: () => setEdge(null),
        onDrop: () => setEdge(null),
      }),
    )
  }, [task, may])
  const onKeyDown = (event: KeyboardEvent) => {
    const step = arrows[event.key]
    if (step && event.altKey && may) {
      event.preventDefault()
      onStep(step)
    }
  }
  const classes = ['tcard', open && 'sel', task.status === 'done' && 'done', held && 'lifted']
  return (
    <>
      {edge === 'top' && <Line />}
      <li ref={element} className={classes.filter(Boolean).join(' ')} aria-current={open || undefined}>
        <button
          type="button"
          ref={cover}
          className="cover"
          aria-label={`${task.key} ${task.title}`}
          onClick={onOpen}
          onKeyDown={onKeyDown}
        />
        <CardBody task={task} />
      </li>
      {edge === 'bottom' && <Line />}
    </>
  )
}

const Line = (): ReactNode => <li className="drop" aria-hidden />
