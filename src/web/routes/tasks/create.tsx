import { useState } from 'react'
import { newIdempotencyKey } from '../../api.ts'
import { Dialog } from '../../components/form/dialog.tsx'
import { Field } from '../../components/form/fields.tsx'
import { ProblemBox } from '../../components/states.tsx'
import { statusNames } from '../../words.ts'
import { useCreateTask } from './queries.ts'
import { words } from './words.ts'

interface Props {
  project: { id: string; slug: string }
  status: 'backlog' | 'todo'
  onClose(): void
}

export function CreateTaskDialog({ project, status, onClose }: Props) {
  const [title, setTitle] = useState('')
  const [key] = useState(newIdempotencyKey)
  const create = useCreateTask(project.id, project.slug)
  return (
    <Dialog title={`${words.newTask} · ${statusNames[status]}`} open onClose={onClose}>
      <form
        className="stack s4"
        onSubmit={(event) => {
          event.preventDefault()
          create.mutate({ title: title.trim(), status, key }, { onSuccess: onClose })
        }}
      >
        <Field label={words.taskTitle} value={title} required maxLength={200} onText={setTitle} />
        {create.error && <ProblemBox error={create.error} />}
        <button type="submit" className="btn main" disabled={create.isPending || title.trim() === ''}>
          {words.create}
        </button>
      </form>
    </Dialog>
  )
}
