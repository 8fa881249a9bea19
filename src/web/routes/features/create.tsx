import { useState } from 'react'
import type { FeatureItem } from '../../../features/workflow/schema.ts'
import { priorities } from '../../../records/task-states.ts'
import { newIdempotencyKey } from '../../api.ts'
import { Field, Select, TextArea } from '../../components/form/fields.tsx'
import { FormDialog, type SentForm } from '../../components/form/form.tsx'
import { priorityNames } from '../../words.ts'
import { useCreateFeature } from './queries.ts'
import { words } from './words.ts'

interface Props {
  slug: string
  onClose(): void
  onCreated(id: string): void
}

export function CreateFeatureDialog({ slug, onClose, onCreated }: Props) {
  const create = useCreateFeature(slug)
  const [key] = useState(newIdempotencyKey)
  const send = (form: SentForm) => {
    const description = form.text('description')
    create.mutate(
      {
        key,
        title: form.text('title'),
        kind: form.text('kind') as FeatureItem['kind'],
        priority: form.text('priority') as FeatureItem['priority'],
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
    <FormDialog
      title={words.create}
      verb={words.createIt}
      busy={create.isPending}
      error={create.error}
      onClose={onClose}
      onSubmit={send}
    >
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
    </FormDialog>
  )
}
