import { useQuery } from '@tanstack/react-query'
import { useNavigate, useRouteContext } from '@tanstack/react-router'
import { useState } from 'react'
import type { Scope } from '../../../records/scopes.ts'
import { projectsQuery } from '../../account/session.ts'
import { newIdempotencyKey } from '../../api.ts'
import { Field, Select } from '../../components/form/fields.tsx'
import { FormDialog, type SentForm } from '../../components/form/form.tsx'
import { useCreateNote } from './queries.ts'
import { noteScopes } from './search.ts'
import { words } from './words.ts'

/** Creates an empty note and opens it for writing. */
export function CreateNoteDialog({ project, onClose }: { project: string | undefined; onClose(): void }) {
  const { team } = useRouteContext({ from: '/inside' })
  const projects = useQuery(projectsQuery(team.id)).data ?? []
  const navigate = useNavigate()
  const [key] = useState(newIdempotencyKey)
  const create = useCreateNote()
  const save = (form: SentForm) => {
    const projectId = form.text('project')
    const scope = form.text('scope') as Scope
    const note = { title: form.text('title'), scope, ...(projectId && { projectId }) }
    create.mutate(
      { ...note, key },
      {
        onSuccess: ({ id }) => {
          onClose()
          void navigate({ to: '/notes/$id', params: { id }, search: { edit: true } })
        },
      },
    )
  }
  return (
    <FormDialog
      title={words.newNote}
      verb={words.create}
      busy={create.isPending}
      error={create.error}
      onClose={onClose}
      onSubmit={save}
    >
      <Field label={words.noteTitle} name="title" required maxLength={200} pattern=".*\S.*" />
      <Select
        label={words.project}
        name="project"
        defaultValue={projects.find(({ slug }) => slug === project)?.id ?? ''}
        none={words.noProject}
        options={projects}
      />
      <Select
        label={words.whose}
        name="scope"
        defaultValue="team"
        options={noteScopes.map((scope) => ({ value: scope, label: words.scopes[scope] }))}
      />
    </FormDialog>
  )
}
