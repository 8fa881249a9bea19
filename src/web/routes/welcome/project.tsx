import { Link } from '@tanstack/react-router'
import { useRef, useState } from 'react'
import { newIdempotencyKey } from '../../api.ts'
import { CopyButton } from '../../components/copy-button.tsx'
import { NameForm } from './name-form.tsx'
import { useCreateProject } from './queries.ts'
import { words } from './words.ts'

export function ProjectStep() {
  const [key] = useState(newIdempotencyKey)
  const create = useCreateProject()
  const source = useRef<HTMLElement>(null)
  if (!create.data)
    return (
      <>
        <p className="soft">{words.project.about}</p>
        <NameForm
          label={words.project.name}
          verb={words.project.create}
          mutation={create}
          onSubmit={(name) => create.mutate({ name, key })}
        />
      </>
    )
  const { name, slug, key: projectKey } = create.data
  const prompt = words.project.prompt(projectKey)
  return (
    <>
      <p>{words.project.made(name)}</p>
      <div className="code line">
        <span className="grow" ref={source}>
          {prompt}
        </span>
        <CopyButton text={prompt} source={source} name={words.project.promptName} />
      </div>
      <p>
        <Link className="btn main" to="/projects/$slug/tasks" params={{ slug }}>
          {words.project.board}
        </Link>
      </p>
    </>
  )
}
