/** The acceptance criteria of a new task. Enter adds one. */
import { Plus, X } from 'lucide-react'
import { useState } from 'react'
import { words } from './words.ts'

const MOST = 50

interface Props {
  criteria: readonly string[]
  onChange(criteria: readonly string[]): void
}

export function Criteria({ criteria, onChange }: Props) {
  const [text, setText] = useState('')
  const add = () => {
    const next = text.trim()
    if (next !== '' && !criteria.includes(next)) onChange([...criteria, next])
    setText('')
  }
  return (
    <section className="crit" aria-label={words.acceptance}>
      <h3 className="h3">{words.acceptance}</h3>
      <ul>
        {criteria.map((criterion) => (
          <li key={criterion} className="ac">
            <span className="box" aria-hidden />
            <span className="grow">{criterion}</span>
            <button
              type="button"
              className="ib s24"
              aria-label={words.removeCriterion(criterion)}
              onClick={() => onChange(criteria.filter((other) => other !== criterion))}
            >
              <X className="i s12" aria-hidden />
            </button>
          </li>
        ))}
      </ul>
      {criteria.length < MOST && (
        <span className="ac soft">
          <Plus className="i s14" aria-hidden />
          <input
            className="bare grow"
            aria-label={words.addCriterion}
            placeholder={words.addCriterion}
            maxLength={500}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            onBlur={add}
            onKeyDown={(event) => {
              if (event.key !== 'Enter' || event.metaKey || event.ctrlKey) return
              event.preventDefault()
              add()
            }}
          />
        </span>
      )}
    </section>
  )
}
