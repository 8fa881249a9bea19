/** An edit conflict: the lines of both texts, and the ways to resolve it. */
import { useMemo } from 'react'
import { conflictLines, mergeTexts } from './merge.ts'

const words = {
  conflict: 'Edit conflict',
  text: 'Someone else saved this text while you were writing. Their lines are marked −, yours +.',
  keepMine: 'Keep mine',
  takeTheirs: 'Take theirs',
  merge: 'Merge and edit',
}

interface Props {
  /** The text that both began with. */
  base: string
  mine: string
  theirs: string
  /** `edit`: the text is edited before it is saved. */
  onSettle(text: string, edit: boolean): void
}

export function TextConflict({ base, mine, theirs, onSettle }: Props) {
  const lines = useMemo(() => conflictLines(theirs, mine), [theirs, mine])
  return (
    <section className="sheet conflict" aria-label={words.conflict} role="alert">
      <header className="padh">
        <h2 className="h2">{words.conflict}</h2>
        <p className="soft">{words.text}</p>
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
        <button type="button" className="btn quiet" onClick={() => onSettle(mergeTexts(base, mine, theirs), true)}>
          {words.merge}
        </button>
      </footer>
    </section>
  )
}
