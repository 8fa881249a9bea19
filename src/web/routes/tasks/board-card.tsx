/** A card of the board: a link that a click opens beside the board, and that pointer or arrow keys move. */
import { combine } from '@atlaskit/pragmatic-drag-and-drop/combine'
import { draggable, dropTargetForElements } from '@atlaskit/pragmatic-drag-and-drop/element/adapter'
import { attachClosestEdge, extractClosestEdge } from '@atlaskit/pragmatic-drag-and-drop-hitbox/closest-edge'
import { Ellipsis } from 'lucide-react'
import {
  type KeyboardEvent,
  type MouseEvent,
  memo,
  type ReactNode,
  type RefObject,
  useCallback,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import type { TaskItem } from '../../../features/tasks/schema.ts'
import { CardBody } from './card.tsx'
import type { CardStep } from './moves.ts'
import { opensTab, taskHref } from './task-link.ts'
import { words } from './words.ts'

const arrows: Record<string, CardStep> = { ArrowUp: 'up', ArrowDown: 'down', ArrowLeft: 'left', ArrowRight: 'right' }

interface CardProps {
  task: TaskItem
  /** Its place in the column, and how many are there, of which few are in the page. */
  place: number
  all: number
  /** Tells the column how high the card is. */
  measure(element: Element | null): void
  open: boolean
  chosen: boolean
  moving: boolean
  may: boolean
  focused: RefObject<string | undefined>
  on: {
    open(): void
    point(): void
    choose(range: boolean): void
    menu(button: Element): void
    moved(): void
    step(step: CardStep): void
  }
}

/** Cards render again only if what they show has changed: what they call is always about the same task. */
export const BoardCard = memo(
  function Card({ task, place, all, measure, open, chosen, moving, may, focused, on }: CardProps) {
    const element = useRef<HTMLLIElement>(null)
    const { edge, held } = useDragging(element, task, may)
    const measured = useMeasured(element, measure)
    const latest = useRef(on)
    latest.current = on
    const classes = ['tcard', open && 'sel', chosen && 'chosen', moving && 'moving', held && 'lifted']
    const done = task.status === 'done' && 'done'
    return (
      <>
        {edge === 'top' && <Line />}
        <li
          ref={measured}
          className={[...classes, done].filter(Boolean).join(' ')}
          data-index={place}
          aria-posinset={place + 1}
          aria-setsize={all}
          aria-current={open || undefined}
        >
          <CardContent task={task} chosen={chosen} moving={moving} may={may} focused={focused} on={latest} />
        </li>
        {edge === 'bottom' && <Line />}
      </>
    )
  },
  (a, b) =>
    a.task === b.task &&
    a.place === b.place &&
    a.all === b.all &&
    a.open === b.open &&
    a.chosen === b.chosen &&
    a.moving === b.moving &&
    a.may === b.may,
)

interface InsideProps extends Pick<CardProps, 'task' | 'chosen' | 'moving' | 'may' | 'focused'> {
  on: RefObject<CardProps['on']>
}

/** What stays as it is while a card only gets another place. */
const CardContent = memo(function Inside({ task, chosen, moving, may, focused, on }: InsideProps) {
  const cover = useRef<HTMLAnchorElement>(null)
  useLayoutEffect(() => {
    // Its column brings it into view.
    if (focused.current === task.id && document.activeElement === document.body)
      cover.current?.focus({ preventScroll: true })
  }, [focused, task.id])
  const onKeyDown = (event: KeyboardEvent) => {
    const step = arrows[event.key]
    if (moving && (event.key === 'Escape' || event.key === 'Enter')) {
      event.preventDefault()
      on.current.moved()
    }
    if (!step || !may || !(event.altKey || moving) || event.shiftKey) return
    event.preventDefault()
    on.current.step(step)
  }
  const onClick = (event: MouseEvent) => {
    if (opensTab(event)) return
    event.preventDefault()
    if (event.shiftKey) on.current.choose(true)
    else on.current.open()
  }
  return (
    <>
      {/* biome-ignore lint/a11y/useAnchorContent: the label names the task, and the text of the card follows */}
      <a
        ref={cover}
        href={taskHref(task.key)}
        className="cover"
        // The card is dragged, not its address.
        draggable={false}
        data-task={task.id}
        aria-label={`${task.key} ${task.title}`}
        aria-description={chosen ? words.chosen : undefined}
        onClick={onClick}
        onFocus={() => {
          focused.current = task.id
          on.current.point()
        }}
        // An element that is removed, because its card gets another column, has lost its ref by now.
        onBlur={() => {
          if (cover.current) focused.current = undefined
        }}
        onKeyDown={onKeyDown}
      />
      <CardBody task={task} />
      {may && (
        <button
          type="button"
          className="ib s24 cardmenu"
          aria-label={words.menuOf(task.key)}
          aria-haspopup="menu"
          onClick={({ currentTarget }) => on.current.menu(currentTarget)}
        >
          <Ellipsis className="i s14" aria-hidden />
        </button>
      )}
    </>
  )
})

/** Always the same function: React would call a new one with every drawing, and each call measures. */
const useMeasured = (element: RefObject<HTMLLIElement | null>, measure: CardProps['measure']) =>
  useCallback(
    (card: HTMLLIElement | null) => {
      element.current = card
      measure(card)
    },
    [element, measure],
  )

/** Makes a card one that can be dragged and dropped on; tells where another one would land. */
function useDragging(element: RefObject<HTMLLIElement | null>, task: TaskItem, may: boolean) {
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
  }, [element, task, may])
  return { edge, held }
}

const Line = (): ReactNode => <li className="drop" aria-hidden />
