/** A column for each state of the workflow. Features move through gates, so cards are opened and not dragged. */
import { Link } from '@tanstack/react-router'
import { Check, Minus } from 'lucide-react'
import { type UIEvent, useRef, useState } from 'react'
import type { FeatureItem } from '../../../features/workflow/schema.ts'
import { Avatar } from '../../components/avatar.tsx'
import { PriorityGlyph } from '../../components/glyphs.tsx'
import { priorityNames } from '../../words.ts'
import { humanizeName } from '../feature/words.ts'
import { words } from './words.ts'

/** A column shows its first cards; a click shows them all. */
const SHOWN = 12

export function FeatureBoard({ states, features }: { states: readonly string[]; features: readonly FeatureItem[] }) {
  // A state that the workflow no longer has still holds its features.
  const columns = [...new Set([...states, ...features.map(({ status }) => status)])].map((state) => ({
    state,
    items: features.filter(({ status }) => status === state),
  }))
  const [column, setColumn] = useState(columns.find(({ items }) => items.length > 0)?.state ?? columns[0]?.state)
  const strip = useRef<HTMLDivElement>(null)
  const show = (state: string) => {
    setColumn(state)
    strip.current?.querySelector(`[data-column=${state}]`)?.scrollIntoView({ inline: 'start', block: 'nearest' })
  }
  /** On a phone one column fills the screen, and swiping changes it. */
  const follow = ({ currentTarget: { scrollLeft, clientWidth } }: UIEvent) =>
    setColumn(columns[Math.round(scrollLeft / clientWidth)]?.state)
  return (
    <>
      <div className="phonecols seg" role="group" aria-label={words.column}>
        {columns.map(({ state, items }) => (
          <button key={state} type="button" aria-pressed={state === column} onClick={() => show(state)}>
            {humanizeName(state)} {items.length}
          </button>
        ))}
      </div>
      <div className="board gated" ref={strip} onScroll={follow}>
        {columns.map(({ state, items }) => (
          <section
            key={state}
            className="col"
            aria-label={words.columnOf(humanizeName(state), items.length)}
            data-column={state}
          >
            <header>
              <h2>{humanizeName(state)}</h2>
              <span className="n">{items.length}</span>
            </header>
            <ol>
              {items.slice(0, SHOWN).map((feature) => (
                <Card key={feature.id} feature={feature} />
              ))}
              {items.length > SHOWN && (
                <li>
                  <Link
                    className="addrow"
                    from="/projects/$slug/features"
                    to="."
                    search={(before) => ({ ...before, status: state })}
                  >
                    {words.more(items.length - SHOWN)}
                  </Link>
                </li>
              )}
            </ol>
          </section>
        ))}
      </div>
    </>
  )
}

function Card({ feature }: { feature: FeatureItem }) {
  return (
    <li className="tcard">
      <Link className="cover" to="/features/$id" params={{ id: feature.id }} aria-label={feature.title} />
      <div className="row tight">
        {feature.kind !== 'feature' && <span className="flag">{words.kinds[feature.kind]}</span>}
        <PriorityGlyph priority={feature.priority} name={priorityNames[feature.priority]} />
        <span className="end">{feature.assignee && <Avatar party={feature.assignee} />}</span>
      </div>
      <h3 className="ttl">{feature.title}</h3>
      <GateMarks feature={feature} />
    </li>
  )
}

/** A stop for each gate: a check where it was passed, a dash where it is not asked for. */
export function GateMarks({ feature: { gates } }: { feature: FeatureItem }) {
  if (gates.length === 0) return null
  const passed = gates.filter(({ state }) => state === 'passed').length
  return (
    <span className="gates" role="img" aria-label={words.gates(passed, gates.length)}>
      {gates.map(({ gate, state }) => (
        <span key={gate} className={`stop ${state}`} title={`${humanizeName(gate)}: ${words.gateStates[state]}`}>
          {state === 'passed' && <Check className="i s12" aria-hidden />}
          {state === 'skipped' && <Minus className="i s12" aria-hidden />}
        </span>
      ))}
      <span className="t12 soft" aria-hidden>
        {passed}/{gates.length}
      </span>
    </span>
  )
}
