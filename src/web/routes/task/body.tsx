/** What a task says, and what may be done with it. The server says what that is, in `can`. */
import { Link } from '@tanstack/react-router'
import { Check } from 'lucide-react'
import { createContext, type ReactNode, useContext, useRef, useState } from 'react'
import type { TaskDetail } from '../../../features/tasks/schema.ts'
import type { Status } from '../../../records/work.ts'
import { StatusGlyph } from '../../components/glyphs.tsx'
import { Markdown } from '../../components/markdown.tsx'
import { ProblemBox } from '../../components/states.tsx'
import { isProblem } from '../../problem.ts'
import { statusNames } from '../../words.ts'
import { Comments } from './comments.tsx'
import { Fields } from './fields.tsx'
import { HoldBox } from './hold.tsx'
import { useAct, useChange } from './queries.ts'
import { words } from './words.ts'

export const TaskBody = ({ task, level }: { task: TaskDetail; level: 1 | 2 }) => (
  <Level value={level}>
    <Body task={task} />
  </Level>
)

function Body({ task }: { task: TaskDetail }) {
  const change = useChange(task)
  const act = useAct(task)
  const may = (action: keyof TaskDetail['can']) => task.can[action] === true
  const error = change.error ?? act.error
  return (
    <div className="body">
      <div className="txt">
        <Title task={task} may={may('update')} onChange={(title) => change.mutate({ title })} />
        <Description task={task} may={may('update')} onChange={(description) => change.mutate({ description })} />
        {error && <ProblemBox error={isProblem(error) && error.status === 412 ? new Error(words.metOther) : error} />}
        {task.lease && <HoldBox task={task} may={may} onAct={act.mutate} busy={act.isPending} />}
        <Acceptance task={task} may={may('update')} onTick={(acceptance) => change.mutate({ acceptance })} />
        <Neighbours task={task} />
        {task.completionNotes && (
          <Section title={words.notes}>
            <Markdown text={task.completionNotes} />
          </Section>
        )}
        <Comments task={task} may={may('comment')} />
      </div>
      <Fields task={task} may={may('update')} onChange={change.mutate}>
        <div className="stack">
          {!task.lease && may('claim') && (
            <button type="button" className="btn" disabled={act.isPending} onClick={() => act.mutate('claim')}>
              {words.claim}
            </button>
          )}
          {may('complete') && task.status !== 'done' && (
            <button type="button" className="btn main" disabled={act.isPending} onClick={() => act.mutate('complete')}>
              {words.complete}
            </button>
          )}
        </div>
      </Fields>
    </div>
  )
}

/** The level of a task's title: the first on its own page, the second beside a list. */
const Level = createContext<1 | 2>(2)

export function Section({ title, n, children }: { title: string; n?: ReactNode; children: ReactNode }) {
  const Heading = useContext(Level) === 1 ? 'h2' : 'h3'
  return (
    <section className="sect">
      <header>
        <Heading className="h2">{title}</Heading>
        {n !== undefined && <span className="n">{n}</span>}
      </header>
      {children}
    </section>
  )
}

interface TitleProps {
  task: TaskDetail
  may: boolean
  onChange(title: string): void
}

function Title({ task, may, onChange }: TitleProps) {
  const Heading = useContext(Level) === 1 ? 'h1' : 'h2'
  const [editing, setEditing] = useState(false)
  /** Left by a key, so the focus goes back to where it came from. */
  const returning = useRef(false)
  const save = (text: string) => {
    setEditing(false)
    if (text.trim() !== '' && text.trim() !== task.title) onChange(text.trim())
  }
  if (!editing)
    return (
      <Heading className="h1">
        {may ? (
          <button
            type="button"
            className="inline"
            title={words.editTitle}
            onClick={() => setEditing(true)}
            ref={(button) => {
              if (returning.current) button?.focus()
              returning.current = false
            }}
          >
            {task.title}
          </button>
        ) : (
          task.title
        )}
      </Heading>
    )
  return (
    <input
      className="input h1"
      aria-label={words.editTitle}
      defaultValue={task.title}
      maxLength={200}
      ref={(field) => field?.focus()}
      onBlur={(event) => save(event.currentTarget.value)}
      onKeyDown={(event) => {
        returning.current = event.key === 'Enter' || event.key === 'Escape'
        if (event.key === 'Enter') save(event.currentTarget.value)
        if (event.key === 'Escape') setEditing(false)
      }}
    />
  )
}

interface DescriptionProps {
  task: TaskDetail
  may: boolean
  onChange(description: string | null): void
}

function Description({ task, may, onChange }: DescriptionProps) {
  const [draft, setDraft] = useState<string>()
  const edit = () => setDraft(task.description ?? '')
  if (draft === undefined)
    return (
      <div className="stack s1">
        {task.description ? (
          <Markdown text={task.description} />
        ) : (
          !may && <p className="soft">{words.noDescription}</p>
        )}
        {may && (
          <p>
            <button type="button" className="btn small quiet soft" onClick={edit}>
              {task.description ? words.editText : words.addText}
            </button>
          </p>
        )}
      </div>
    )
  const save = () => {
    onChange(draft.trim() === '' ? null : draft)
    setDraft(undefined)
  }
  return (
    <form
      className="compose"
      onSubmit={(event) => {
        event.preventDefault()
        save()
      }}
    >
      <textarea
        className="bare"
        rows={8}
        aria-label={words.description}
        value={draft}
        maxLength={50_000}
        ref={(field) => {
          if (field && document.activeElement === document.body) field.focus()
        }}
        onChange={(event) => setDraft(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) save()
          if (event.key === 'Escape') setDraft(undefined)
        }}
      />
      <span className="row">
        <span className="grow" />
        <button type="button" className="btn small quiet" onClick={() => setDraft(undefined)}>
          {words.cancel}
        </button>
        <button type="submit" className="btn small main">
          {words.save}
        </button>
      </span>
    </form>
  )
}

interface AcceptanceProps {
  task: TaskDetail
  may: boolean
  onTick(acceptance: TaskDetail['acceptance']): void
}

function Acceptance({ task: { acceptance }, may, onTick }: AcceptanceProps) {
  if (acceptance.length === 0) return null
  const done = acceptance.filter((criterion) => criterion.done).length
  return (
    <Section title={words.acceptance} n={words.of(done, acceptance.length)}>
      <ul>
        {acceptance.map((criterion, place) => (
          <li key={criterion.text} className="ac">
            <button
              type="button"
              role="checkbox"
              aria-checked={criterion.done}
              aria-label={criterion.text}
              disabled={!may}
              className={criterion.done ? 'box ok' : 'box'}
              onClick={() => onTick(acceptance.map((c, i) => (i === place ? { ...c, done: !c.done } : c)))}
            >
              {criterion.done && <Check className="i s12" aria-hidden />}
            </button>
            <span className="grow">{criterion.text}</span>
          </li>
        ))}
      </ul>
    </Section>
  )
}

interface Neighbour {
  id: string
  key: string
  title: string
  status: Status
}

function Neighbours({ task }: { task: TaskDetail }) {
  const groups: [string, Neighbour[]][] = [
    [words.waitsFor, task.waitsFor],
    [words.frees, task.frees],
    [words.parts, task.subtasks],
  ]
  const shown = groups.filter(([, list]) => list.length > 0)
  if (shown.length === 0) return null
  return (
    <Section title={words.dependencies}>
      <div className="two">
        {shown.map(([name, list]) => (
          <div key={name}>
            <p className="h3">{name}</p>
            <ul>
              {list.map((other) => (
                <li key={other.id}>
                  <Link className="dep" to="/tasks/$key" params={{ key: other.key }}>
                    <StatusGlyph status={other.status} name={statusNames[other.status]} />
                    <span className="key">{other.key}</span>
                    <span className="cut">{other.title}</span>
                  </Link>
                </li>
              ))}
            </ul>
          </div>
        ))}
      </div>
    </Section>
  )
}
