/** What people and agents of a team did, day by day. */
import { queryOptions, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useRouteContext } from '@tanstack/react-router'
import type { Analytics } from '../../../features/teams/schema.ts'
import { ok, teams } from '../../api.ts'
import { Avatar } from '../../components/avatar.tsx'
import { LoadStatus } from '../../components/states.tsx'
import { useCrumbs } from '../../crumbs.ts'
import { day } from '../../lib/times.ts'
import { words } from './words.ts'

const route = getRouteApi('/inside/team/analytics')
const SPANS = [7, 30, 90] as const

const analyticsQuery = (id: string, days: number) =>
  queryOptions({
    queryKey: ['analytics', id, days],
    queryFn: () => ok(teams.teams({ id }).analytics.get({ query: { days } })),
  })

export function AnalyticsPage() {
  const { team } = useRouteContext({ from: '/inside' })
  const days = route.useSearch().days ?? 30
  const { data, error } = useQuery(analyticsQuery(team.id, days))
  useCrumbs({ label: words.title })
  return (
    <div className="scroll">
      <div className="page stack s5">
        <header className="row wide phead wraps">
          <h1 className="h1 grow">{words.title}</h1>
          <div className="seg" role="group" aria-label={words.span}>
            {SPANS.map((span) => (
              <Link
                key={span}
                to="/team/analytics"
                search={{ days: span === 30 ? undefined : span }}
                activeOptions={{ includeSearch: true, explicitUndefined: true }}
              >
                {words.days(span)}
              </Link>
            ))}
          </div>
        </header>
        <LoadStatus of={{ data, error }} />
        {data && <Figures data={data} />}
        {data && <Changes data={data} />}
        {data && <Completed data={data} />}
        {data && <Contributors data={data} />}
      </div>
    </div>
  )
}

function Figures({ data: { tasks, ...data } }: { data: Analytics }) {
  const closed = tasks.done + tasks.cancelled
  const open = Object.values(tasks).reduce((sum, n) => sum + n, 0) - closed
  const facts: [string, string | number][] = [
    [words.figures.members, words.of(data.activeMembers, data.members)],
    [words.figures.projects, data.projects.active],
    [words.figures.open, open],
    [words.figures.done, tasks.done],
    [words.figures.notes, data.notes],
  ]
  return (
    <dl className="sheet admgrid">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt className="t12 soft">{name}</dt>
          <dd className="b6">{value}</dd>
        </div>
      ))}
    </dl>
  )
}

interface Bar {
  date: string
  title: string
  /** From the bottom up, with the class of each part. */
  parts: readonly (readonly [string, number])[]
}

const HEIGHT = 120

/** Bars with positions in percent: nothing is measured, and nothing has a style of its own. */
function Bars({ bars, name }: { bars: readonly Bar[]; name: string }) {
  const most = Math.max(1, ...bars.map(({ parts }) => parts.reduce((sum, [, n]) => sum + n, 0)))
  const width = 100 / bars.length
  return (
    <svg className="daybars" height={HEIGHT + 20} role="img" aria-label={name}>
      <line className="base" x1="0" x2="100%" y1={HEIGHT} y2={HEIGHT} />
      <line className="base" x1="0" x2="100%" y1="14" y2="14" />
      <text x="100%" y="10" textAnchor="end">
        {most}
      </text>
      {bars.map(({ date, title, parts }, place) => {
        let top = HEIGHT
        return (
          <g key={date}>
            <title>{title}</title>
            {parts.map(([kind, n]) => {
              const height = (n / most) * (HEIGHT - 14)
              top -= height
              return (
                <rect
                  key={kind}
                  className={kind}
                  x={`${place * width + width * 0.15}%`}
                  width={`${width * 0.7}%`}
                  y={top}
                  height={height}
                />
              )
            })}
          </g>
        )
      })}
      <text x="0" y={HEIGHT + 16}>
        {day(bars[0]?.date ?? '')}
      </text>
      <text x="100%" y={HEIGHT + 16} textAnchor="end">
        {day(bars.at(-1)?.date ?? '')}
      </text>
    </svg>
  )
}

function Changes({ data }: { data: Analytics }) {
  const sum = (which: 'people' | 'agents') => data.changes.reduce((n, one) => n + one[which], 0)
  const text = words.sum(sum('people'), sum('agents'))
  const bars = data.changes.map(({ date, people, agents }) => ({
    date,
    title: words.dayOf(day(date), people, agents),
    parts: [
      ['people', people],
      ['agents', agents],
    ] as const,
  }))
  return (
    <section className="sheet pad stack">
      <h2 className="h2">{words.changes}</h2>
      <p className="soft">{text}</p>
      <Bars bars={bars} name={text} />
      <p className="row t12 soft" aria-hidden>
        <span className="daykey people" />
        {words.people}
        <span className="daykey agents" />
        {words.agents}
      </p>
    </section>
  )
}

const Completed = ({ data }: { data: Analytics }) => (
  <section className="sheet pad stack">
    <h2 className="h2">{words.completed}</h2>
    <Bars
      name={words.completed}
      bars={data.completed.map(({ date, count }) => ({
        date,
        title: words.doneOn(day(date), count),
        parts: [['done', count]],
      }))}
    />
  </section>
)

const Contributors = ({ data: { contributors } }: { data: Analytics }) => (
  <section className="sheet pad stack">
    <h2 className="h2">{words.contributors}</h2>
    {contributors.length === 0 ? (
      <p className="soft">{words.nobody}</p>
    ) : (
      <ul className="stack">
        {contributors.map(({ id, name, changes }) => (
          <li key={id} className="row">
            <Avatar party={{ type: 'user', id, name }} />
            <span className="grow cut">{name}</span>
            <span className="soft">{words.changed(changes)}</span>
          </li>
        ))}
      </ul>
    )}
  </section>
)
