/** What must be true before the task is done: ticked, edited, added and removed in place. */
import { Check, Pencil, X } from 'lucide-react'
import { useState } from 'react'
import type { TaskDetail } from '../../../features/tasks/schema.ts'
import { InlineField } from '../../components/form/inline-edit.tsx'
import { AddLineForm } from './add-line.tsx'
import { TaskSection } from './section.tsx'
import { words } from './words.ts'

type Criteria = TaskDetail['acceptance']

interface Props {
  criteria: Criteria
  may: boolean
  onChange(acceptance: Criteria): void
}

const MOST = 50
const LONGEST = 500

export function Acceptance({ criteria, may, onChange }: Props) {
  if (criteria.length === 0 && !may) return null
  const done = criteria.filter((criterion) => criterion.done).length
  const put = (place: number, ...next: Criteria) => onChange(criteria.toSpliced(place, 1, ...next))
  return (
    <TaskSection title={words.acceptance} n={criteria.length > 0 ? words.of(done, criteria.length) : undefined}>
      <ul>
        {criteria.map((criterion, place) => (
          <Criterion
            key={criterion.text}
            criterion={criterion}
            may={may}
            onTick={() => put(place, { ...criterion, done: !criterion.done })}
            onWord={(text) => put(place, { ...criterion, text })}
            onRemove={() => put(place)}
          />
        ))}
      </ul>
      {may && criteria.length < MOST && (
        <AddLineForm
          label={words.addCriterion}
          longest={LONGEST}
          onAdd={(text) => onChange([...criteria, { text, done: false }])}
        />
      )}
    </TaskSection>
  )
}

interface CriterionProps {
  criterion: Criteria[number]
  may: boolean
  onTick(): void
  onWord(text: string): void
  onRemove(): void
}

function Criterion({ criterion: { text, done }, may, onTick, onWord, onRemove }: CriterionProps) {
  const [editing, setEditing] = useState(false)
  return (
    <li className="ac">
      <button
        type="button"
        role="checkbox"
        aria-checked={done}
        aria-label={text}
        disabled={!may}
        className={done ? 'box ok' : 'box'}
        onClick={onTick}
      >
        {done && <Check className="i s12" aria-hidden />}
      </button>
      {editing ? (
        <InlineField
          label={words.criterion}
          value={text}
          maxLength={LONGEST}
          onSave={onWord}
          onDone={() => setEditing(false)}
        />
      ) : (
        <span className="grow">{text}</span>
      )}
      {may && !editing && (
        <span className="row tight">
          <button type="button" className="ib s24" aria-label={words.edit(text)} onClick={() => setEditing(true)}>
            <Pencil className="i s12" aria-hidden />
          </button>
          <button type="button" className="ib s24" aria-label={words.removeOne(text)} onClick={onRemove}>
            <X className="i s12" aria-hidden />
          </button>
        </span>
      )}
    </li>
  )
}
