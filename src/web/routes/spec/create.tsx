import { useQuery } from '@tanstack/react-query'
import { useRouteContext } from '@tanstack/react-router'
import { useState } from 'react'
import { projectsQuery } from '../../account/session.ts'
import { newIdempotencyKey } from '../../api.ts'
import { Field, Select } from '../../components/form/fields.tsx'
import { FormDialog, type SentForm } from '../../components/form/form.tsx'
import { EditorField } from '../../writing/editor-field.tsx'
import { useCreateSpec } from './queries.ts'
import { words } from './words.ts'

interface Props {
  project: string | undefined
  onClose(): void
  onCreated(id: string): void
}

export function CreateSpecDialog({ project, onClose, onCreated }: Props) {
  const { team } = useRouteContext({ from: '/inside' })
  const projects = useQuery(projectsQuery(team.id)).data ?? []
  const create = useCreateSpec()
  const [key] = useState(newIdempotencyKey)
  const send = (form: SentForm) => {
    const { text } = form
    create.mutate(
      { key, title: text('title'), content: text('content'), projectId: text('project') },
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
      title={words.newTitle}
      verb={words.create}
      busy={create.isPending}
      error={create.error}
      onClose={onClose}
      onSubmit={send}
    >
      <Field label={words.title} name="title" required maxLength={200} />
      <Select
        label={words.chooseProject}
        name="project"
        defaultValue={project}
        options={projects.map(({ slug, name }) => ({ value: slug, label: name }))}
      />
      <EditorField label={words.content} name="content" rows={8} maxLength={256 << 10} required />
    </FormDialog>
  )
}
