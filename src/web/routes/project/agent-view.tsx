/** The brief that an agent would get, from the API that agents call: its parts, their costs, and what did not fit. */
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { SquareTerminal } from 'lucide-react'
import { useDeferredValue, useState } from 'react'
import type { Brief } from '../../../features/sessions/schema.ts'
import { ProblemBox, Waiting } from '../../components/states.tsx'
import { localizeTimes } from '../../lib/times.ts'
import { briefQuery } from './queries.ts'
import { words } from './words.ts'

const LEAST = 500
const MOST = 8000
const DEFAULT = 4000
/** A usual context window, to compare with. */
const WINDOW = 200_000

const number = (n: number) => new Intl.NumberFormat().format(n)

export function AgentView({ projectId }: { projectId: string }) {
  const [budget, setBudget] = useState(DEFAULT)
  const { data, error } = useQuery({
    ...briefQuery(projectId, useDeferredValue(budget)),
    placeholderData: keepPreviousData,
  })
  return (
    <section className="sheet pad agv" aria-label={words.view.title}>
      <header className="row">
        <SquareTerminal className="i agent-ink" aria-hidden />
        <h2 className="h2 nowrap">{words.view.title}</h2>
        <span className="soft t12">{words.view.text}</span>
      </header>
      {error && <ProblemBox error={error} />}
      {!data && !error && <Waiting />}
      {data && (
        <>
          <Budget brief={data.brief} budget={budget} onChange={setBudget} />
          {data.brief.parts.length === 0 ? (
            <p className="soft">{words.view.none}</p>
          ) : (
            <Parts parts={data.brief.parts} />
          )}
          {data.brief.left.length > 0 && <p className="t12 soft">{words.view.left(data.brief.left.join(', '))}</p>}
        </>
      )}
    </section>
  )
}

type Part = Brief['parts'][number]

function Budget({
  brief: { tokens, parts },
  budget,
  onChange,
}: {
  brief: { tokens: number; parts: readonly Part[] }
  budget: number
  onChange(budget: number): void
}) {
  const percent = (n: number) => `${Math.min(100, (n * 100) / MOST)}%`
  const starts = parts.map((_, i) => parts.slice(0, i).reduce((sum, part) => sum + part.tokens, 0))
  return (
    <div className="stack s1">
      <div className="row t12">
        <b className="b6">{words.view.tokens(number(tokens))}</b>
        <span className="soft">{words.view.of(number(budget))}</span>
        <span className="end soft">
          {words.view.share(
            new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 }).format((tokens * 100) / WINDOW),
          )}
        </span>
      </div>
      <div className="budget">
        <svg className="slider" height="22" aria-hidden>
          <rect className="bg" y="8" width="100%" height="6" rx="3" />
          {parts.map((part, i) => (
            <rect
              key={part.title}
              className={`s${Math.min(4, i + 1)}`}
              x={percent(starts[i] as number)}
              y="8"
              width={percent(part.tokens)}
              height="6"
            />
          ))}
          <circle className="knob" cx={percent(budget)} cy="11" r="7" />
        </svg>
        <input
          type="range"
          aria-label={words.view.budget}
          min={LEAST}
          max={MOST}
          step={250}
          value={budget}
          onChange={(event) => onChange(Number(event.currentTarget.value))}
        />
      </div>
    </div>
  )
}

/** Returns the first lines of a part as one, without the marks of a list. */
const beginning = (text: string): string =>
  text
    .slice(0, 300)
    .replace(/^- /, '')
    .replaceAll(/\n(- )?/g, ' · ')

const Parts = ({ parts }: { parts: readonly Part[] }) => (
  <ol className="brief">
    {parts.map(({ title, times, tokens, text }) => (
      <li key={title}>
        <details>
          <summary className="bh">
            <b>{localizeTimes(title, times)}</b>
            <span className="num">{number(tokens)}</span>
            <span className="cut">{beginning(text)}</span>
          </summary>
          <pre>{text}</pre>
        </details>
      </li>
    ))}
  </ol>
)
