/** A bar for each task, from its start (else its creation) to its end (else its due date). */
import type { TaskItem } from '../../../../features/tasks/schema.ts'
import { percentIn, type TimeSpan } from '../../../components/chart/event-timeline.tsx'
import { day } from '../../../lib/times.ts'
import { words } from '../words.ts'
import { TaskList, type TaskListProps } from './list.tsx'

interface Bar extends TimeSpan {
  /** Whether it is still going on, with no end that is known. */
  open: boolean
}

const DAY = 86_400_000

function taskBar({ startedAt, createdAt, completedAt, dueAt }: TaskItem, now = Date.now()): Bar {
  const from = Date.parse(startedAt ?? createdAt)
  const end = completedAt ?? dueAt
  return { from, until: Math.max(from + DAY / 2, end ? Date.parse(end) : now), open: end === null }
}

/** The time that all bars together take. */
function tasksSpan(tasks: readonly TaskItem[], now = Date.now()): TimeSpan {
  const bars = tasks.map((task) => taskBar(task, now))
  const from = Math.min(now - DAY, ...bars.map((bar) => bar.from))
  return { from, until: Math.max(now + DAY, ...bars.map((bar) => bar.until)) }
}

export default function Timeline(props: TaskListProps) {
  return (
    <TaskList
      {...props}
      head={(tasks) => <Days span={tasksSpan(tasks)} />}
      row={(task, tasks) => <TimeRow task={task} span={tasksSpan(tasks)} />}
    />
  )
}

const STEPS = [1, 2, 7, 14, 28, 91, 182, 365]

/** Returns midnights within a span, a round number of days apart: at most six. */
function axisDays({ from, until }: TimeSpan): number[] {
  const step = STEPS.find((days) => (until - from) / (days * DAY) <= 5) ?? 365
  const days = Array.from({ length: 6 }, (_, n) => new Date(from).setHours(24 * (1 + n * step), 0, 0, 0))
  return days.filter((at) => at < until)
}

/** Labels of the scale; near its ends and the present there is no room for them. */
function Days({ span }: { span: TimeSpan }) {
  const now = percentIn(span, Date.now())
  const places = axisDays(span).map((at) => ({ at, x: percentIn(span, at) }))
  return (
    <span className="timerow">
      <svg className="daybars" height="22" aria-hidden>
        {places
          .filter(({ x }) => x > 3 && x < 97 && Math.abs(x - now) > 9)
          .map(({ at, x }) => (
            <text key={at} x={`${x}%`} y="15" textAnchor="middle">
              {day(at)}
            </text>
          ))}
        <text x={`${now}%`} y="15" textAnchor="middle">
          {words.now}
        </text>
      </svg>
    </span>
  )
}

function TimeRow({ task, span }: { task: TaskItem; span: TimeSpan }) {
  const bar = taskBar(task)
  const [x, until] = [percentIn(span, bar.from), percentIn(span, bar.until)]
  const now = `${percentIn(span, Date.now())}%`
  const end = task.completedAt ?? task.dueAt
  const [first, last] = [day(bar.from), end ? day(end) : words.now]
  const times = first === last ? first : words.fromTo(first, last)
  return (
    <span className="timerow">
      <svg width="100%" height="22" role="img" aria-label={times}>
        <line className="nowmark" x1={now} x2={now} y1="0" y2="22" />
        <rect
          className={`bar ${task.status}${bar.open ? ' open' : ''}`}
          x={`${x}%`}
          width={`${Math.max(0.6, until - x)}%`}
          y="5"
          height="12"
          rx="3"
        />
      </svg>
      <span className="t12 soft num hp">{times}</span>
    </span>
  )
}
