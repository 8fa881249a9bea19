import {
  Brain,
  Flag,
  GitCommitHorizontal,
  Hand,
  type LucideIcon,
  MessageSquare,
  NotebookPen,
  ShieldCheck,
  SquareKanban,
} from 'lucide-react'
import { useEffect, useRef } from 'react'
import type { Timeline } from '../../../features/sessions/timeline-schema.ts'
import { clockTime } from '../../lib/times.ts'
import { decisionCommented, taskClaimed, taskCommented } from '../../live/event-types.ts'
import { words } from './words.ts'

type Happened = Timeline['events'][number]

const lineIcons = { gate: ShieldCheck, task: SquareKanban, code: GitCommitHorizontal, note: NotebookPen } as const

function iconOf({ type, kind, line }: Happened): LucideIcon {
  if (kind === 'session') return Flag
  if (type === taskClaimed) return Hand
  if (type === taskCommented || type === decisionCommented) return MessageSquare
  if (kind === 'memory') return Brain
  return lineIcons[line ?? 'note']
}

/** More rows than these are not mounted: only those around the one that is looked at. */
const MOST_ROWS = 36

export function ChangeList({
  events,
  more,
  current,
  onChoose,
}: {
  events: readonly Happened[]
  more: boolean
  current: number
  onChoose(place: number): void
}) {
  const first = Math.max(0, Math.min(current - MOST_ROWS / 2, events.length - MOST_ROWS))
  const row = useRef<HTMLLIElement>(null)
  const shown = useRef(current)
  useEffect(() => {
    // Not when the page opens: its head would be out of sight. The call returns a promise in new browsers, which is no
    // clean-up.
    if (shown.current !== current) void row.current?.scrollIntoView({ block: 'nearest' })
    shown.current = current
  }, [current])
  return (
    <section className="sheet">
      <header className="row padh">
        <h2 className="h2">{words.changes}</h2>
        {more && <span className="soft t12">{words.more}</span>}
      </header>
      {events.length === 0 && <p className="pad soft">{words.none}</p>}
      <ol className="rvl">
        {events.slice(first, first + MOST_ROWS).map((event, n) => {
          const place = first + n
          const Icon = iconOf(event)
          const classes = ['rv', place === current && 'cur', place > current && 'later', !event.own && 'other']
          return (
            <li
              key={event.id}
              ref={place === current ? row : undefined}
              className={classes.filter(Boolean).join(' ')}
              aria-current={place === current ? 'true' : undefined}
            >
              <time dateTime={event.at}>{clockTime(event.at)}</time>
              <Icon className="i s14" aria-hidden />
              <span className="cut grow">
                <button type="button" className="inline" onClick={() => onChoose(place)}>
                  {event.own ? event.description : `${event.actor.name} ${event.description}`}
                </button>
              </span>
            </li>
          )
        })}
      </ol>
    </section>
  )
}
