import { type FormEvent, useState } from 'react'
import type { FeatureItem } from '../../../features/workflow/schema.ts'
import { priorities } from '../../../records/work.ts'
import { newKey } from '../../api.ts'
import { Dialog } from '../../components/dialog.tsx'
import { Field, Select, TextArea } from '../../components/form/fields.tsx'
import { ProblemBox } from '../../components/states.tsx'
import { priorityNames } from '../../words.ts'
import { useCreate } from './queries.ts'
import { words } from './words.ts'

interface Props {
  slug: string
  onClose(): void
  onCreated(id: string): void
}

export function CreateDialog({ slug, onClose, onCreated }: Props) {
  const create = useCreate(slug)
  const [key] = useState(newKey)
  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    const description = String(form.get('description') ?? '').trim()
    create.mutate(
      {
        key,
        title: String(form.get('title')).trim(),
        kind: form.get('kind') as FeatureItem['kind'],
        priority: form.get('priority') as FeatureItem['priority'],
        ...(description && { description }),
      },
      {
        onSuccess: ({ id }) => {
          onClose()
          onCreated(id)
        },
      },
    )
  }
  return (
    <Dialog title={words.create} open onClose={onClose}>
      <form className="stack s4" onSubmit={send}>
        <Field label={words.name} name="title" required maxLength={200} />
        <div className="two">
          <Select
            label={words.kind}
            name="kind"
            options={Object.entries(words.kinds).map(([kind, label]) => ({ value: kind, label: label }))}
          />
          <Select
            label={words.priority}
            name="priority"
            defaultValue="medium"
            options={priorities.map((priority) => ({ value: priority, label: priorityNames[priority] }))}
          />
        </div>
        <TextArea label={words.description} name="description" rows={4} maxLength={50_000} />
        {create.error && <ProblemBox error={create.error} />}
        <button type="submit" className="btn main" disabled={create.isPending}>
          {words.createIt}
        </button>
      </form>
    </Dialog>
  )
}
