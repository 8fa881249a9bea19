/** The time of a session as it is drawn: long rests take less room than they lasted, so that the work can be seen. */
import type { Timeline } from '../../../features/sessions/timeline-schema.ts'
import type { TimeSpan } from '../../components/chart/event-timeline.tsx'

interface IdleSpan {
  from: number
  until: number
}

export interface TimeScale {
  span: TimeSpan
  rests: IdleSpan[]
  /** Returns where an instant is drawn. */
  place(at: number): number
}

const MINUTE = 60_000
const LEAST_REST = 15 * MINUTE

export function timeScale({ events, startedAt, endedAt, calls }: Timeline, until: number): TimeScale {
  const from = Date.parse(startedAt)
  const end = Math.max(from + MINUTE, endedAt ? Date.parse(endedAt) : until)
  const busy = [from, ...events.map(({ at }) => Date.parse(at)), ...calls.map(({ minute }) => Date.parse(minute)), end]
    .filter((at) => at >= from && at <= end)
    .sort((a, b) => a - b)
  const rests = busy.slice(1).flatMap((at, i): IdleSpan[] => {
    const before = busy[i] as number
    return at - before > LEAST_REST ? [{ from: before, until: at }] : []
  })
  const resting = rests.reduce((sum, rest) => sum + rest.until - rest.from, 0)
  const working = Math.max(MINUTE, end - from - resting)
  const drawn = ({ from: start, until: stop }: IdleSpan): number => Math.min(stop - start, working * 0.17)
  const place = (at: number): number => {
    const cut = rests
      .filter((rest) => rest.from < at)
      .reduce((sum, rest) => {
        const part = (Math.min(at, rest.until) - rest.from) / (rest.until - rest.from)
        return sum + part * (rest.until - rest.from - drawn(rest))
      }, 0)
    return at - cut
  }
  return { span: { from: place(from), until: place(end) }, rests, place }
}
