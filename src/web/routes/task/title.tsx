/** The title of a task, edited in place. */
import { useContext } from 'react'
import type { TaskDetail } from '../../../features/tasks/schema.ts'
import { InlineEdit, titleLook } from '../../components/form/inline-edit.tsx'
import { NotSent } from '../../waiting/waiting-edits.tsx'
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
    <div>
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
      <NotSent id={task.id} field="title" />
    </div>
  )
}
