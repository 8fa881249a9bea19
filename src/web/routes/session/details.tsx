import { useRef } from 'react'
import type { Timeline } from '../../../features/sessions/timeline-schema.ts'
import { CopyButton } from '../../components/copy-button.tsx'
import { clockTime } from '../../lib/times.ts'
import { words } from './words.ts'

type Brief = Timeline['briefs'][number]
const tones = ['b1', 'b2', 'b3', 'b4'] as const

/** The largest parts of a brief, and the rest of it as one. */
function mainParts({ parts, tokens }: Brief): { title: string; tokens: number }[] {
  const largest = parts.toSorted((a, b) => b.tokens - a.tokens).slice(0, 3)
  const others = tokens - largest.reduce((sum, part) => sum + part.tokens, 0)
  return others > 0 ? [...largest, { title: words.others, tokens: others }] : largest
}

export function BriefMeter({ brief }: { brief: Brief }) {
  const whole = Math.max(brief.budget, brief.tokens)
  let from = 0
  const bars = mainParts(brief).map((part, place) => {
    const bar = { ...part, x: (from / whole) * 100, width: (part.tokens / whole) * 100, tone: tones[place] }
    from += part.tokens
    return bar
  })
  return (
    <div className="stack">
      <h3 className="h3 row">
        {words.brief(clockTime(brief.at))}
        <span className="end">{words.ofBudget(brief.tokens, brief.budget)}</span>
      </h3>
      <svg className="meter tall" aria-hidden>
        <rect className="bg" width="100%" height="100%" />
        {bars.map(({ title, x, width, tone }) => (
          <rect key={title} className={tone} x={`${x}%`} width={`${width}%`} height="100%" />
        ))}
      </svg>
      <p className="row wide t12 soft wrap">
        {bars.map(({ title, tokens, tone }) => (
          <span key={title} className={`key2 ${tone}`}>
            {words.part(title, tokens)}
          </span>
        ))}
      </p>
    </div>
  )
}

export function ResumeCommand({ id, budget }: { id: string; budget: number }) {
  const source = useRef<HTMLElement>(null)
  const text = words.command(id, budget)
  return (
    <div className="stack">
      <h3 className="h3">{words.resume}</h3>
      <div className="code line">
        <span className="cut grow" ref={source}>
          {text}
        </span>
        <CopyButton text={text} source={source} name={words.resumeName} />
      </div>
    </div>
  )
}
