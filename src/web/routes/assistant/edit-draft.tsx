/** The form in which a proposal is changed before it is accepted. */
import { X } from 'lucide-react'
import type { Draft, NoteDraft, TasksDraft } from '../../../features/assistant/schema.ts'
import type { PlanCreate } from '../../../features/planning/schema.ts'
import { draftRows, removePlanItem, removeTask, retitlePlanItem, retitleTask } from './draft-edits.ts'
import { words } from './words.ts'

const text = words.proposal

interface Editing<D> {
  draft: D
  onChange(draft: D): void
}

export function EditDraft({ draft, onChange }: Editing<Draft>) {
  if ('tasks' in draft) return <EditTasks draft={draft} onChange={onChange} />
  if ('epics' in draft) return <EditPlan draft={draft} onChange={onChange} />
  return <EditNote draft={draft} onChange={onChange} />
}

interface TitleProps {
  label: string
  title: string
  onTitle(title: string): void
  /** Undefined for the last one, which has to stay. */
  onDrop: (() => void) | undefined
}

const TitleRow = ({ label, title, onTitle, onDrop }: TitleProps) => (
  <span className="row">
    <input
      className="input grow"
      aria-label={label}
      maxLength={200}
      value={title}
      onChange={(event) => onTitle(event.currentTarget.value)}
    />
    {onDrop && (
      <button type="button" className="ib" aria-label={text.drop(title)} onClick={onDrop}>
        <X className="i s14" aria-hidden />
      </button>
    )}
  </span>
)

function EditTasks({ draft, onChange }: Editing<TasksDraft>) {
  const describe = (place: number, description: string) =>
    onChange({ tasks: draft.tasks.map((task, i) => (i === place ? { ...task, description } : task)) })
  return (
    <ol className="stack">
      {draft.tasks.map((task, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: titles change while they are typed
        <li key={place} className="stack s1">
          <TitleRow
            label={text.title}
            title={task.title}
            onTitle={(title) => onChange(retitleTask(draft, place, title))}
            onDrop={draft.tasks.length > 1 ? () => onChange(removeTask(draft, place)) : undefined}
          />
          <textarea
            className="input"
            rows={2}
            aria-label={text.description}
            maxLength={20_000}
            value={task.description ?? ''}
            onChange={(event) => describe(place, event.currentTarget.value)}
          />
        </li>
      ))}
    </ol>
  )
}

/** The titles of a plan, and what of it is left out; all else is edited once it is there. */
function EditPlan({ draft, onChange }: Editing<PlanCreate>) {
  return (
    <ul className="stack s1">
      {draftRows(draft).map(({ path, title, level }) => (
        <li key={path.join('.')} className={`lv${level}`}>
          <TitleRow
            label={text.titleOf[level]}
            title={title}
            onTitle={(next) => onChange(retitlePlanItem(draft, path, next))}
            onDrop={level > 1 || draft.epics.length > 1 ? () => onChange(removePlanItem(draft, path)) : undefined}
          />
        </li>
      ))}
    </ul>
  )
}

function EditNote({ draft, onChange }: Editing<NoteDraft>) {
  return (
    <div className="stack s1">
      <input
        className="input"
        aria-label={text.title}
        maxLength={200}
        value={draft.title}
        onChange={(event) => onChange({ ...draft, title: event.currentTarget.value })}
      />
      <textarea
        className="input"
        rows={8}
        aria-label={text.content}
        maxLength={50_000}
        value={draft.content}
        onChange={(event) => onChange({ ...draft, content: event.currentTarget.value })}
      />
    </div>
  )
}
