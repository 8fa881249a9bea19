import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { newIdempotencyKey } from '../../api.ts'
import { Dialog } from '../../components/form/dialog.tsx'
import { Field, TextArea } from '../../components/form/fields.tsx'
import { ProblemBox } from '../../components/states.tsx'
import { useCreateProject } from './queries.ts'
import { words } from './words.ts'

export default function CreateProject({ onClose }: { onClose(): void }) {
  const [name, setName] = useState('')
  const [description, setDescription] = useState('')
  const [once] = useState(newIdempotencyKey)
  const create = useCreateProject()
  const navigate = useNavigate()
  return (
    <Dialog title={words.newProject} open onClose={onClose}>
      <form
        className="stack s4"
        onSubmit={(event) => {
          event.preventDefault()
          const about = description.trim()
          create.mutate(
            { name: name.trim(), ...(about && { description: about }), once },
            { onSuccess: ({ slug }) => void navigate({ to: '/projects/$slug/plan', params: { slug } }) },
          )
        }}
      >
        <Field label={words.name} required maxLength={100} value={name} onText={setName} />
        <TextArea label={words.description} rows={3} maxLength={10_000} value={description} onText={setDescription} />
        {create.error && <ProblemBox error={create.error} />}
        <button type="submit" className="btn main" disabled={create.isPending || name.trim() === ''}>
          {words.create}
        </button>
      </form>
    </Dialog>
  )
}
