/** The title and the description of a task, each edited in place. */
import { useContext, useState } from 'react'
import type { TaskDetail } from '../../../features/tasks/schema.ts'
import { InlineEdit, TextForm, titleLook } from '../../components/form/inline-edit.tsx'
import { Markdown } from '../../components/text/markdown.tsx'
import { HeadingLevel } from './section.tsx'
import { words } from './words.ts'

interface TitleProps {
  task: TaskDetail
  may: boolean
  onChange(title: string): void
}

export function TaskTitle({ task, may, onChange }: TitleProps) {
  const Heading = useContext(HeadingLevel) === 1 ? 'h1' : 'h2'
  return (
    <InlineEdit
      label={words.editTitle}
      hint={words.editTitle}
      value={task.title}
      may={may}
      maxLength={200}
      look={titleLook}
      around={(title) => <Heading className="h1">{title}</Heading>}
      onSave={onChange}
    />
  )
}

interface DescriptionProps {
  task: TaskDetail
  may: boolean
  onChange(description: string | null): void
}

export function TaskDescription({ task, may, onChange }: DescriptionProps) {
  const [editing, setEditing] = useState(false)
  if (editing)
    return (
      <TextForm
        label={words.description}
        value={task.description ?? ''}
        rows={8}
        maxLength={50_000}
        onSave={(text) => onChange(text.trim() === '' ? null : text)}
        onClose={() => setEditing(false)}
      />
    )
  return (
    <div className="stack s1">
      {task.description ? <Markdown text={task.description} /> : !may && <p className="soft">{words.noDescription}</p>}
      {may && (
        <p>
          <button type="button" className="btn small quiet soft" onClick={() => setEditing(true)}>
            {task.description ? words.editText : words.addText}
          </button>
        </p>
      )}
    </div>
  )
}
