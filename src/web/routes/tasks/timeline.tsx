/** When work was or will be done: from its start (else its creation) to its end (else when it is due). */
import type { ComponentProps } from 'react'
import type { TaskItem } from '../../../features/tasks/schema.ts'
import { placeIn, type Span } from '../../components/staff.tsx'
import { day } from '../../times.ts'
import { TaskList } from './list.tsx'
import { words } from './words.ts'

interface Bar extends Span {
  /** Whether it is still going on, with no end that is known. */
  open: boolean
}

const DAY = 86_400_000

export function barOf({ startedAt, createdAt, completedAt, dueAt }: TaskItem, now = Date.now()): Bar {
  const from = Date.parse(startedAt ?? createdAt)
  const end = completedAt ?? dueAt
  return { from, until: Math.max(from + DAY / 2, end ? Date.parse(end) : now), open: end === null }
}

/** The time that all bars together take. */
export function spanOf(tasks: readonly TaskItem[], now = Date.now()): Span {
  const bars = tasks.map((task) => barOf(task, now))
  const from = Math.min(now - DAY, ...bars.map((bar) => bar.from))
  return { from, until: Math.max(now + DAY, ...bars.map((bar) => bar.until)) }
}

export default function Timeline(props: Omit<ComponentProps<typeof TaskList>, 'row'>) {
  return <TaskList {...props} row={(task, tasks) => <TimeRow task={task} span={spanOf(tasks)} />} />
}

function TimeRow({ task, span }: { task: TaskItem; span: Span }) {
  const bar = barOf(task)
  const [x, end] = [placeIn(span, bar.from), placeIn(span, bar.until)]
  const now = `${placeIn(span, Date.now())}%`
  const times = words.fromTo(
    day(new Date(bar.from).toISOString()),
    bar.open ? words.now : day(new Date(bar.until).toISOString()),
  )
  return (
    <span className="timerow">
      <svg width="100%" height="22" role="img" aria-label={times}>
        <line className="nowmark" x1={now} x2={now} y1="0" y2="22" />
        <rect
          className={`bar ${task.status}${bar.open ? ' open' : ''}`}
          x={`${x}%`}
          width={`${Math.max(0.6, end - x)}%`}
          y="5"
          height="12"
          rx="3"
        />
      </svg>
      <span className="t12 soft num hp">{times}</span>
    </span>
  )
}
