/** The title and the description of a task, each edited where it stands. */
import { useContext, useRef, useState } from 'react'
import type { TaskDetail } from '../../../features/tasks/schema.ts'
import { Markdown } from '../../components/markdown.tsx'
import { Level } from './section.tsx'
import { words } from './words.ts'

interface TitleProps {
  task: TaskDetail
  may: boolean
  onChange(title: string): void
}

export function Title({ task, may, onChange }: TitleProps) {
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

export function Description({ task, may, onChange }: DescriptionProps) {
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
