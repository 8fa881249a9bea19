import { useQuery } from '@tanstack/react-query'
import { useNavigate, useRouteContext } from '@tanstack/react-router'
import { useState } from 'react'
import type { Scope } from '../../../records/scopes.ts'
import { newKey } from '../../api.ts'
import { Dialog } from '../../components/dialog.tsx'
import { Field, Select } from '../../components/form/fields.tsx'
import { ProblemBox } from '../../components/states.tsx'
import { projectsQuery } from '../../session.ts'
import { useCreate } from './queries.ts'
import { scopes } from './search.ts'
import { words } from './words.ts'

/** Creates an empty note and opens it for writing. */
export function CreateDialog({ project, onClose }: { project: string | undefined; onClose(): void }) {
  const { team } = useRouteContext({ from: '/inside' })
  const projects = useQuery(projectsQuery(team.id)).data ?? []
  const navigate = useNavigate()
  const [key] = useState(newKey)
  const create = useCreate()
  const save = (form: FormData) => {
    const projectId = String(form.get('project') ?? '')
    const scope = String(form.get('scope')) as Scope
    const note = { title: String(form.get('title')).trim(), scope, ...(projectId && { projectId }) }
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
    <Dialog title={words.newNote} open onClose={onClose}>
      <form
        className="stack s4"
        onSubmit={(event) => {
          event.preventDefault()
          save(new FormData(event.currentTarget))
        }}
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
          options={scopes.map((scope) => ({ value: scope, label: words.scopes[scope] }))}
        />
        {create.error && <ProblemBox error={create.error} />}
        <button type="submit" className="btn main" disabled={create.isPending}>
          {words.create}
        </button>
      </form>
    </Dialog>
  )
}
