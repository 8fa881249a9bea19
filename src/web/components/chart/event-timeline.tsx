/**
 * The staff: time as a score of four lines (gate, task, code, note). Heads are changes, round for people and square for
 * agents; ticks under the lines are calls; the band is a claim, its dashed end the lease that is left. Everything is
 * placed in percent, so nothing is measured.
 */
import { Fragment, type ReactNode } from 'react'
import { type StaffLine, staffLines } from '../../../events/staff-lines.ts'

/** The time that a staff shows, in milliseconds. */
export interface TimeSpan {
  from: number
  until: number
}

export const percentIn = ({ from, until }: TimeSpan, at: number): number =>
  Math.round(Math.min(100, Math.max(0, ((at - from) / (until - from || 1)) * 100)) * 100) / 100
const percent = (span: TimeSpan, at: number): string => `${percentIn(span, at)}%`

export interface TimelineMark {
  id: string
  at: number
  line: StaffLine
  by: 'user' | 'agent'
  /** `off`: still to come; `cur`: the one that is looked at. */
  state?: 'off' | 'cur'
}

/** Where the four lines are, from the top. */
const compactLanes = { gate: 5, task: 12, code: 19, note: 26 } as const satisfies Record<StaffLine, number>
type LaneOffsets = Record<StaffLine, number>

export const LaneLines = ({ places = compactLanes }: { places?: LaneOffsets }) =>
  staffLines.map((line) => <line key={line} className="ln" x1="0" x2="100%" y1={places[line]} y2={places[line]} />)

interface HeadsProps {
  span: TimeSpan
  marks: readonly TimelineMark[]
  places?: LaneOffsets
  /** In the colour of what is stalled. */
  late?: boolean
}

export const LaneMarks = ({ span, marks, places = compactLanes, late }: HeadsProps) =>
  marks.map(({ id, at, line, by, state }) => {
    const classes = ['hd', by === 'user' && 'p', late && 'w', state].filter(Boolean).join(' ')
    return (
      <svg key={id} x={percent(span, at)} y={places[line]} overflow="visible" aria-hidden>
        {by === 'user' ? (
          <circle className={classes} r="3.5" />
        ) : (
          <rect className={classes} x="-3.25" y="-3.25" width="6.5" height="6.5" rx="1.5" />
        )}
      </svg>
    )
  })

interface CallCount {
  /** The beginning of the minute. */
  at: number
  n: number
}

const MINUTE = 60_000
/** The width that ticks are drawn on; two of them are at least `NEXT` apart. */
const WIDTH = 2000
const NEXT = 7
const MOST_IN_A_MINUTE = 4

/** One path for all calls: a day has more of them than a page should have elements. */
export function CallTicks({
  span,
  calls,
  y,
  late,
}: {
  span: TimeSpan
  calls: readonly CallCount[]
  y: number
  late?: boolean
}) {
  const places = calls.flatMap(({ at, n }) => {
    const ticks = Math.min(n, MOST_IN_A_MINUTE)
    return Array.from({ length: ticks }, (_, i) => at + ((i + 0.5) / ticks) * MINUTE)
  })
  const drawn: number[] = []
  for (const at of places.sort((a, b) => a - b)) {
    const x = Math.round((percentIn(span, at) / 100) * WIDTH)
    if (x - (drawn.at(-1) ?? -NEXT) >= NEXT) drawn.push(x)
  }
  if (drawn.length === 0) return null
  const path = drawn.map((x) => `M${x} 0v5`).join('')
  return (
    <svg y={y} width="100%" height="5" viewBox={`0 0 ${WIDTH} 5`} preserveAspectRatio="none" aria-hidden>
      <path className={late ? 'call w' : 'call'} d={path} vectorEffect="non-scaling-stroke" />
    </svg>
  )
}

interface ClaimBand {
  since: number
  /** Now, or when the claim ended. */
  until: number
  /** When the lease expires. */
  expires?: number
  by: 'user' | 'agent'
}

/** No change since then, although calls came. */
interface Stall {
  since: number
  /** Drawn over the staff, where there is room for it. */
  label?: string
}

interface StaffProps {
  span: TimeSpan
  /** A sentence that says what the picture shows. */
  name: string
  marks?: readonly TimelineMark[]
  calls?: readonly CallCount[]
  hold?: ClaimBand
  stall?: Stall
  /** Where the line of the present is. It reaches into the rows above and below. */
  now?: number
}

export function EventTimeline({ span, name, marks = [], calls = [], hold, stall, now }: StaffProps) {
  const tone = stall ? ' w' : hold?.by === 'user' ? ' p' : ''
  const band = (from: number, until: number) => ({
    x: percent(span, from),
    width: `${Math.max(0, percentIn(span, until) - percentIn(span, from))}%`,
  })
  return (
    <svg className="staff" height={40} role="img" aria-label={name}>
      {hold && <rect className={`hold${tone}`} y="0" height="31" rx="3" {...band(hold.since, hold.until)} />}
      {hold && stall && <rect className="hatch" y="0" height="31" {...band(stall.since, hold.until)} />}
      <LaneLines />
      {hold?.expires !== undefined && (
        <rect className={`hold left${tone}`} y=".5" height="30" rx="3" {...band(hold.until, hold.expires)} />
      )}
      <CallTicks span={span} calls={calls} y={33} late={stall !== undefined} />
      <LaneMarks span={span} marks={marks} late={stall !== undefined} />
      {now !== undefined && (
        <line className="nowline" x1={percent(span, now)} x2={percent(span, now)} y1="-80" y2="120" />
      )}
      {hold && stall?.label && <StallLabel x={percent(span, (stall.since + hold.until) / 2)} text={stall.label} />}
    </svg>
  )
}

const StallLabel = ({ x, text }: { x: string; text: string }) => (
  <svg className="stalllbl" x={x} y="15" overflow="visible" aria-hidden>
    <rect className="lbl" x="-86" y="-12" width="172" height="20" rx="4" />
    <text className="w" textAnchor="middle" y="2">
      {text}
    </text>
  </svg>
)

/** The times above a staff, and the present on a plate. */
export function TimeAxis({ span, now, text }: { span: TimeSpan; now: number; text(at: number): string }) {
  return (
    <svg className="staff" height="28" aria-hidden>
      {axisTimes(span).map((at) => {
        // A label under the plate of the present would be unreadable.
        const hidden = Math.abs(percentIn(span, at) - percentIn(span, now)) < 14
        return (
          <Fragment key={at}>
            {!hidden && (
              <text x={percent(span, at)} y="18" textAnchor={at === span.from ? 'start' : 'middle'}>
                {text(at)}
              </text>
            )}
          </Fragment>
        )
      })}
      <TimePlate x={percent(span, now)} y={4} text={text(now)} />
    </svg>
  )
}

/** A time on a plate of the accent colour. */
export const TimePlate = ({ x, y, text, children }: { x: string; y: number; text: string; children?: ReactNode }) => (
  <svg x={x} y={y} overflow="visible" aria-hidden>
    {children}
    <rect className="play" x="-32" width="64" height="20" rx="4" />
    <text className="onplay" y="14" textAnchor="middle">
      {text}
    </text>
  </svg>
)

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 240, 480, 1440].map((minutes) => minutes * MINUTE)

/** The beginning, and round times after it: about five in all. */
function axisTimes(span: TimeSpan, most = 6): number[] {
  const step = STEPS.find((length) => (span.until - span.from) / length <= most) ?? 1440 * MINUTE
  const first = Math.ceil((span.from + step * 0.75) / step) * step
  const round = Array.from({ length: most + 1 }, (_, i) => first + i * step).filter(
    (at) => at < span.until - step * 0.2,
  )
  return [span.from, ...round]
}
