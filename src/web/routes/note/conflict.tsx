/** Two people wrote the same text: what both have, side by side by lines, and the ways out. */
import { applyPatch, type ChangeObject, diffLines, structuredPatch } from 'diff'
import { useMemo } from 'react'
import { words } from './words.ts'

interface Props {
  /** The text that both began with. */
  base: string
  mine: string
  theirs: string
  onSettle(text: string, edit: boolean): void
}

/** Texts that differ more than this are shown one after the other: comparing them would take too long. */
const MOST_EDITS = 1000
const compare = (theirs: string, mine: string): ChangeObject<string>[] =>
  diffLines(theirs, mine, { maxEditLength: MOST_EDITS }) ?? [
    { value: theirs, removed: true, added: false, count: 1 },
    { value: mine, removed: false, added: true, count: 1 },
  ]

/** Puts my changes into their text. Where that does not fit, both texts are shown below each other, line by line. */
export function merged(base: string, mine: string, theirs: string): string {
  const patch = structuredPatch('', '', base, mine, '', '', { context: 2, maxEditLength: MOST_EDITS })
  const fits = patch ? applyPatch(theirs, patch, { fuzzFactor: 1 }) : false
  return fits === false
    ? compare(theirs, mine)
        .map(({ value }) => (value.endsWith('\n') ? value : `${value}\n`))
        .join('')
    : fits
}

interface Line {
  id: string
  mark: '+' | '−' | ' '
  text: string
}

const linesOf = (theirs: string, mine: string): Line[] =>
  compare(theirs, mine)
    .flatMap(({ value, added, removed }) => {
      const mark = added ? ('+' as const) : removed ? ('−' as const) : (' ' as const)
      const lines = value.replace(/\n$/, '').split('\n')
      return lines.map((text) => ({ mark, text }))
    })
    .map((line, place) => ({ ...line, id: String(place) }))

export function Conflict({ base, mine, theirs, onSettle }: Props) {
  const lines = useMemo(() => linesOf(theirs, mine), [theirs, mine])
  return (
    <section className="sheet conflict" aria-label={words.conflict} role="alert">
      <header className="padh">
        <h2 className="h2">{words.conflict}</h2>
        <p className="soft">{words.conflictText}</p>
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keys */}
      <div className="dff" tabIndex={0} role="group" aria-label={words.conflict}>
        {lines.map(({ id, mark, text }) => (
          <span key={id} className={{ '+': 'p', '−': 'm', ' ': '' }[mark]}>
            {mark} {text}
          </span>
        ))}
      </div>
      <footer className="row pad wrap">
        <button type="button" className="btn main" onClick={() => onSettle(mine, false)}>
          {words.keepMine}
        </button>
        <button type="button" className="btn" onClick={() => onSettle(theirs, false)}>
          {words.takeTheirs}
        </button>
        <button type="button" className="btn quiet" onClick={() => onSettle(merged(base, mine, theirs), true)}>
          {words.merge}
        </button>
      </footer>
    </section>
  )
}
