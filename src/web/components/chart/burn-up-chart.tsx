/** A burn-up chart: tasks done by people (violet) and agents (teal), the scope (grey) and a forecast (dashed). */
import { useLayoutEffect, useRef, useState } from 'react'

interface ChartDay {
  day: string
  scope: number
  people: number
  agents: number
}

interface Words {
  people(n: number): string
  agents(n: number): string
  scope(n: number): string
  today: string
  at(day: string): string
}

interface Props {
  days: readonly ChartDay[]
  /** A sentence that says what the picture shows. */
  name: string
  words: Words
  day(date: string): string
}

const HEIGHT = 196
const TOP = 10
const BOTTOM = 174
const START = 28
/** Room for the labels at the ends of the lines. */
const END = 84
/** Below this width the label of the scope comes before today; only those of people and agents are after it. */
const NARROW = 480
const NARROW_END = 12
/** Half of the width of the longest label of a forecast. */
const HALF_LABEL = 62
const DAY = 86_400_000
const PACE_DAYS = 14

/** The day on which all is done at the pace of the last two weeks; undefined if it never is, or is done already. */
export function forecast(days: readonly ChartDay[]): { inDays: number; date: string } | undefined {
  const last = days.at(-1)
  const before = days.at(-1 - Math.min(PACE_DAYS, days.length - 1))
  if (!last || !before || last === before) return undefined
  const pace = (doneTasks(last) - doneTasks(before)) / Math.min(PACE_DAYS, days.length - 1)
  const open = last.scope - doneTasks(last)
  if (pace <= 0 || open <= 0) return undefined
  const inDays = Math.ceil(open / pace)
  return { inDays, date: new Date(Date.parse(last.day) + inDays * DAY).toISOString().slice(0, 10) }
}

/** A round number that is at least a third of the highest value. */
function stepOf(most: number): number {
  const third = Math.max(1, most / 3)
  const power = 10 ** Math.floor(Math.log10(third))
  return (([1, 2, 3, 5, 10].find((n) => n * power >= third) as number) * power) | 0
}

/** Follows the width that is there for the chart. */
function useWidth() {
  const box = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(640)
  useLayoutEffect(() => {
    const { current } = box
    if (!current) return
    const measure = () => setWidth(Math.max(200, current.clientWidth))
    measure()
    const watching = new ResizeObserver(measure)
    watching.observe(current)
    return () => watching.disconnect()
  }, [])
  return { box, width }
}

const doneTasks = (day: ChartDay): number => day.people + day.agents

/** Where days and numbers are in the picture. */
function chartLayout(days: readonly ChartDay[], width: number) {
  const goal = forecast(days)
  const isNarrow = width < NARROW
  const right = width - (isNarrow ? NARROW_END : END)
  // Where the chart is narrow, the labels behind today need this many days.
  const least = isNarrow ? Math.ceil(((days.length - 1) * END) / (right - START - END)) : 0
  const ahead = Math.max(least, goal ? Math.min(Math.max(4, goal.inDays + 4), days.length) : 0)
  const step = stepOf(Math.max(...days.map(({ scope }) => scope), 1))
  const x = (place: number) => START + ((right - START) * place) / Math.max(1, days.length - 1 + ahead)
  const y = (n: number) => BOTTOM - ((BOTTOM - TOP) * n) / (step * 3)
  const point = (place: number, n: number) => `${x(place).toFixed(1)} ${y(n).toFixed(1)}`
  return { goal, ahead, right, isNarrow, step, x, y, point, now: days.length - 1, last: days.at(-1) as ChartDay }
}
type ChartLayout = ReturnType<typeof chartLayout>

export function BurnUpChart({ days, name, words, day }: Props) {
  const { box, width } = useWidth()
  if (days.length === 0) return <div ref={box} />
  const all = chartLayout(days, width)
  const { x, y, point, right, step, now } = all
  const line = (of: (d: ChartDay) => number) =>
    days.map((d, place) => `${place ? 'L' : 'M'}${point(place, of(d))}`).join('')
  const back = days.map((d, place) => `L${point(place, d.people)}`).reverse()
  const people = line((d) => d.people)
  const marks = [0, Math.floor(now / 2)].filter((place, i, list) => list.indexOf(place) === i && place < now - 2)
  return (
    <div className="chartbox" ref={box}>
      <svg
        className="chart"
        viewBox={`0 0 ${width} ${HEIGHT}`}
        width={width}
        height={HEIGHT}
        role="img"
        aria-label={name}
      >
        {[0, 1, 2, 3].map((n) => (
          <g key={n}>
            <line className="grid" x1={START} x2={right} y1={y(n * step)} y2={y(n * step)} />
            <text x={START - 8} y={y(n * step) + 4} textAnchor="end">
              {n * step}
            </text>
          </g>
        ))}
        <path className="pa" d={`${people}L${x(now).toFixed(1)} ${BOTTOM}L${START} ${BOTTOM}Z`} />
        <path className="aa" d={`${line(doneTasks)}${back.join('')}Z`} />
        <path className="al" d={line(doneTasks)} />
        <path className="pl" d={people} />
        <path className="scope" d={line(({ scope }) => scope)} />
        <Forecast plan={all} label={(date) => words.at(day(date))} />
        <LineLabels plan={all} words={words} />
        {marks.map((place) => (
          <text key={place} x={x(place)} y={HEIGHT - 5} textAnchor={place === 0 ? 'start' : 'middle'}>
            {day((days[place] as ChartDay).day)}
          </text>
        ))}
      </svg>
    </div>
  )
}

function Forecast({
  plan: { goal, ahead, right, x, y, point, now, last },
  label,
}: {
  plan: ChartLayout
  label(date: string): string
}) {
  if (!goal) return null
  const isShown = goal.inDays <= ahead
  const reached = isShown ? last.scope : doneTasks(last) + ((last.scope - doneTasks(last)) * ahead) / goal.inDays
  const at = now + Math.min(goal.inDays, ahead)
  return (
    <>
      <path className="fore" d={`M${point(now, last.scope)}H${right}`} />
      <path className="fore" d={`M${point(now, doneTasks(last))}L${point(at, reached)}`} />
      {isShown && (
        <>
          <circle className="hitdot" cx={x(at)} cy={y(last.scope)} r="3.5" />
          <text x={Math.min(x(at) + HALF_LABEL, right)} y={y(last.scope) - 8} textAnchor="end">
            {label(goal.date)}
          </text>
        </>
      )}
    </>
  )
}

/** The labels at the ends of the lines. They keep their distance, whatever the numbers. */
function LineLabels({ plan: { right, isNarrow, x, y, now, last, goal }, words }: { plan: ChartLayout; words: Words }) {
  const peopleAt = Math.min(BOTTOM - 4, y(last.people / 2) + 4)
  const agentsAt = Math.min(peopleAt - 14, y(last.people + last.agents / 2) + 4)
  const scopeAt = Math.min(y(last.scope) + 4, goal ? BOTTOM : agentsAt - 14)
  return (
    <>
      <line className="cross" x1={x(now)} x2={x(now)} y1={TOP} y2={BOTTOM} />
      <text className="in" x={x(now) + 6} y={peopleAt}>
        {words.people(last.people)}
      </text>
      <text className="in" x={x(now) + 6} y={agentsAt}>
        {words.agents(last.agents)}
      </text>
      <text
        className="in"
        x={isNarrow ? x(now) - 6 : right + 6}
        y={isNarrow ? Math.max(TOP, y(last.scope) - 8) : scopeAt}
        textAnchor={isNarrow ? 'end' : 'start'}
      >
        {words.scope(last.scope)}
      </text>
      <text className="in" x={x(now)} y={HEIGHT - 5} textAnchor="middle">
        {words.today}
      </text>
    </>
  )
}

/** A progress bar, split by people and agents. The caller shows the numbers beside it. */
export const ProgressMeter = ({ all, agents, people }: { all: number; agents: number; people: number }) => {
  const share = (n: number) => `${all === 0 ? 0 : (n * 100) / all}%`
  return (
    <svg className="meter" aria-hidden>
      <rect className="bg" width="100%" height="100%" />
      <rect className="a" x="0%" width={share(agents)} height="100%" />
      <rect className="p" x={share(agents)} width={share(people)} height="100%" />
    </svg>
  )
}
