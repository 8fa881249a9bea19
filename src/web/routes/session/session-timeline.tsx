import { type StaffLine, staffLines } from '../../../events/staff-lines.ts'
import type { Timeline } from '../../../features/sessions/timeline-schema.ts'
import {
  CallTicks,
  LaneLines,
  LaneMarks,
  percentIn,
  type TimelineMark,
  TimePlate,
} from '../../components/chart/event-timeline.tsx'
import { clockTime } from '../../lib/times.ts'
import { sessionCheckpointed } from '../../live/event-types.ts'
import type { TimeScale } from './time-scale.ts'
import { words } from './words.ts'

const large = { gate: 40, task: 60, code: 80, note: 100 } satisfies Record<StaffLine, number>

/** The whole session on one bar: changes, claims above them, calls below, rests and checkpoints. */
export function SessionTimeline({
  timeline,
  scale,
  current,
}: {
  timeline: Timeline
  scale: TimeScale
  current: number
}) {
  const { span, place, rests } = scale
  const x = (at: string | number): number => percentIn(span, place(typeof at === 'string' ? Date.parse(at) : at))
  const cursor = timeline.events[current]
  const marks = timeline.events.flatMap(({ id, at, line, actor }, n): TimelineMark[] =>
    line
      ? [
          {
            id,
            at: place(Date.parse(at)),
            line,
            by: actor.type === 'user' ? 'user' : 'agent',
            ...(n > current && { state: 'off' as const }),
            ...(n === current && { state: 'cur' as const }),
          },
        ]
      : [],
  )
  const end = timeline.endedAt ?? undefined
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls on a phone, and keys must be able to scroll it
    <div className="scorebox" tabIndex={0} aria-label={words.bar} role="group">
      <div className="names t12 soft" aria-hidden>
        {staffLines.map((line) => (
          <span key={line}>{words.lines[line]}</span>
        ))}
      </div>
      <div className="scorestaff">
        <svg className="staff" height="148" role="img" aria-label={words.score(timeline.events.length)}>
          <LaneLines places={large} />
          {rests.map((rest) => (
            <IdleBox
              key={rest.from}
              left={x(rest.from)}
              right={x(rest.until)}
              minutes={(rest.until - rest.from) / 60_000}
            />
          ))}
          <CallTicks
            span={span}
            y={118}
            calls={timeline.calls.map(({ minute, n }) => ({ at: place(Date.parse(minute)), n }))}
          />
          {timeline.holds.map(({ taskId, key, from, until }) => (
            <ClaimSpan key={taskId + from} label={key} left={x(from)} right={until ? x(until) : end ? x(end) : 100} />
          ))}
          <LaneMarks span={span} marks={marks} places={large} />
          {timeline.events
            .filter(({ type }) => type === sessionCheckpointed)
            .map(({ id, at }) => (
              <svg key={id} x={`${x(at)}%`} y="32" overflow="visible" aria-hidden>
                <line className="flagpole" y1="0" y2="78" />
                <path className="flagcloth" d="M0 0h9l-2.5 3.5L9 7H0z" />
              </svg>
            ))}
          {cursor && (
            <TimePlate x={`${x(cursor.at)}%`} y={0} text={clockTime(cursor.at)}>
              <line className="nowline" y1="14" y2="130" />
            </TimePlate>
          )}
          <text x="0" y="144">
            {clockTime(timeline.startedAt)}
          </text>
          {rests.flatMap((rest) => [
            <text key={rest.from} x={`${x(rest.from)}%`} y="144" textAnchor="end">
              {x(rest.from) > 6 ? clockTime(rest.from) : ''}
            </text>,
            <text key={rest.until} x={`${x(rest.until)}%`} y="144">
              {x(rest.until) < 90 ? clockTime(rest.until) : ''}
            </text>,
          ])}
          <text x="100%" y="144" textAnchor="end">
            {clockTime(end ?? timeline.events.at(-1)?.at ?? timeline.startedAt)}
          </text>
        </svg>
      </div>
    </div>
  )
}

const ClaimSpan = ({ label, left, right }: { label: string; left: number; right: number }) => (
  <>
    <rect className="hold2" x={`${left}%`} y="22" width={`${Math.max(0.5, right - left)}%`} height="7" rx="2" />
    <text x={`${left}%`} y="15">
      {label}
    </text>
  </>
)

const IdleBox = ({ left, right, minutes }: { left: number; right: number; minutes: number }) => (
  <>
    <rect className="rest" x={`${left + 0.5}%`} y="32" width={`${Math.max(0, right - left - 1)}%`} height="96" />
    {right - left > 9 && (
      <text x={`${(left + right) / 2}%`} y="78" textAnchor="middle">
        {words.rest(Math.round(minutes))}
      </text>
    )}
  </>
)
