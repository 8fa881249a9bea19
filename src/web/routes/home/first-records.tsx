import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { newIdempotencyKey, ok, onboarding, tasks, writeOptions } from '../../api.ts'
import { ProblemBox } from '../../components/states.tsx'
import { toast } from '../../components/toasts.tsx'
import { useWrite } from '../../lib/data.ts'
import { useCreateProject } from '../projects/queries.ts'
import { words } from './words.ts'

const textsOf = (event: FormEvent<HTMLFormElement>): Record<string, string> => {
  event.preventDefault()
  return Object.fromEntries([...new FormData(event.currentTarget)].map(([name, value]) => [name, String(value).trim()]))
}

/** The form for the first project of a team. */
export function NewProject() {
  const [once] = useState(newIdempotencyKey)
  const create = useCreateProject()
  const submit = (event: FormEvent<HTMLFormElement>) => {
    const { name = '', key } = textsOf(event)
    create.mutate({ once, name, ...(key && { key: key.toUpperCase() }) })
  }
  const w = words.project
  return (
    <form className="stack" onSubmit={submit}>
      <div className="row wrap">
        <input
          className="input hname"
          name="name"
          aria-label={w.name}
          placeholder={w.sample}
          required
          maxLength={100}
          pattern=".*\S.*"
        />
        <input
          className="input hkey"
          name="key"
          aria-label={w.key}
          placeholder={w.sampleKey}
          maxLength={6}
          pattern="[A-Za-z]{2,6}"
        />
        <button type="submit" className="btn main" disabled={create.isPending}>
          {w.create}
        </button>
      </div>
      {create.error && <ProblemBox error={create.error} />}
    </form>
  )
}

/** Creates the sample project and opens its tasks. */
export function useCreateSample() {
  const navigate = useNavigate()
  return useWrite(
    async () => {
      const { slug } = await ok(onboarding.onboarding.sample.post())
      await navigate({ to: '/projects/$slug/tasks', params: { slug } })
    },
    ['projects'],
    ['onboarding'],
  )
}

/** The form for the first task. It is locked until there is a project. */
export function NewTask({ project }: { project: string | undefined }) {
  const cache = useQueryClient()
  const [once, setOnce] = useState(newIdempotencyKey)
  const create = useWrite(
    ({ slug, title }: { slug: string; title: string }) =>
      ok(tasks.projects({ slug }).tasks.post({ title, status: 'todo' }, writeOptions(undefined, once))),
    ['tasks'],
  )
  const w = words.task
  const submit = (event: FormEvent<HTMLFormElement>) => {
    const form = event.currentTarget
    const { title = '' } = textsOf(event)
    if (!project) return
    create.mutate(
      { slug: project, title },
      {
        onSuccess: ({ key }) => {
          toast({ title: w.made(key) })
          form.reset()
          setOnce(newIdempotencyKey())
          void cache.invalidateQueries({ queryKey: ['onboarding'] })
        },
      },
    )
  }
  return (
    <form className="stack" onSubmit={submit}>
      <div className="row wrap">
        <input
          className="input grow"
          name="title"
          aria-label={w.label}
          aria-describedby={project ? undefined : 'first-task-locked'}
          placeholder={w.example}
          required
          readOnly={!project}
          maxLength={200}
          pattern=".*\S.*"
        />
        {project && (
          <button type="submit" className="btn" disabled={create.isPending}>
            {w.create}
          </button>
        )}
      </div>
      {!project && (
        <p id="first-task-locked" className="t12 soft">
          {w.locked}
        </p>
      )}
      {create.error && <ProblemBox error={create.error} />}
    </form>
  )
}
