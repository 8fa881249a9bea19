/** Moves a project to another team of the reader, after they confirmed it. */
import { useSuspenseQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import type { ProjectDetail } from '../../../features/projects/schema.ts'
import { teamsQuery } from '../../account/session.ts'
import { Select } from '../../components/form/fields.tsx'
import { ProblemBox } from '../../components/states.tsx'
import { toast } from '../../components/toasts.tsx'
import { useProjectChange } from './queries.ts'
import { words } from './words.ts'

type Team = { id: string; name: string; slug: string }

export function MoveProject({ project }: { project: ProjectDetail }) {
  const teams = useSuspenseQuery(teamsQuery).data.filter(
    ({ id, role }) => id !== project.organizationId && role !== 'viewer',
  )
  const [chosen, setChosen] = useState('')
  const [asked, setAsked] = useState<Team>()
  if (project.can?.move !== true || teams.length === 0) return null
  if (asked) return <Confirmation project={project} team={asked} onCancel={() => setAsked(undefined)} />
  return (
    <div className="row inviteform">
      <Select
        label={words.move.label}
        grow
        value={chosen}
        onText={setChosen}
        none={words.move.choose}
        options={teams}
      />
      <button
        type="button"
        className="btn"
        disabled={chosen === ''}
        onClick={() => setAsked(teams.find(({ id }) => id === chosen))}
      >
        {words.move.verb}
      </button>
    </div>
  )
}

function Confirmation({ project, team, onCancel }: { project: ProjectDetail; team: Team; onCancel(): void }) {
  const { mutate, error, isPending } = useProjectChange(project)
  const navigate = useNavigate()
  const onSuccess = () => {
    toast({ title: words.move.moved(project.name, team.name) })
    void navigate({ to: '/projects/$slug', params: { slug: project.id }, search: { team: team.slug } })
  }
  return (
    <div className="stack" role="alert">
      <b>{words.move.title(project.name, team.name)}</b>
      <p>{words.move.text(team.name)}</p>
      <p className="soft">{words.move.instead}</p>
      {error && <ProblemBox error={error} />}
      <div className="row">
        <span className="grow" />
        <button type="button" className="btn" onClick={onCancel}>
          {words.move.cancel}
        </button>
        <button
          type="button"
          className="btn danger"
          disabled={isPending}
          onClick={() => mutate({ moveTo: team.id }, { onSuccess })}
        >
          {words.move.confirm}
        </button>
      </div>
    </div>
  )
}
