import { useQuery } from '@tanstack/react-query'
import { useRouteContext } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { newKey } from '../../api.ts'
import { Dialog } from '../../components/dialog.tsx'
import { Field, Select, TextArea } from '../../components/form/fields.tsx'
import { ProblemBox } from '../../components/states.tsx'
import { projectsQuery } from '../../session.ts'
import { useCreate } from './queries.ts'
import { words } from './words.ts'

interface Props {
  project: string | undefined
  onClose(): void
  onCreated(id: string): void
}

export function CreateDialog({ project, onClose, onCreated }: Props) {
  const { team } = useRouteContext({ from: '/inside' })
  const projects = useQuery(projectsQuery(team.id)).data ?? []
  const create = useCreate()
  const [key] = useState(newKey)
  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    const text = (name: string) => String(form.get(name) ?? '').trim()
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
    <Dialog title={words.newTitle} open onClose={onClose}>
      <form className="stack s4" onSubmit={send}>
        <Field label={words.title} name="title" required maxLength={200} />
        <Select
          label={words.chooseProject}
          name="project"
          defaultValue={project}
          options={projects.map(({ slug, name }) => ({ value: slug, label: name }))}
        />
        <TextArea label={words.content} name="content" rows={8} required />
        {create.error && <ProblemBox error={create.error} />}
        <button type="submit" className="btn main" disabled={create.isPending}>
          {words.create}
        </button>
      </form>
    </Dialog>
  )
}
