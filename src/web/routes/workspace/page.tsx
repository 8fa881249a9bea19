/** A workspace: the teams that share it with their roles, and the projects in it. */
import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate, useRouteContext } from '@tanstack/react-router'
import { useState } from 'react'
import type { WorkspaceDetail } from '../../../features/workspaces/schema.ts'
import { ProgressMeter } from '../../components/chart/burn-up-chart.tsx'
import { Confirm } from '../../components/form/confirm.tsx'
import { LoadStatus, ProblemBox } from '../../components/states.tsx'
import { useCrumbs } from '../../crumbs.ts'
import { EditWorkspace } from './edit.tsx'
import { WorkspaceInvites } from './invites.tsx'
import { useWorkspaceChange, workspaceProjectsQuery, workspaceQuery } from './queries.ts'
import { WorkspaceTeams } from './teams.tsx'
import { words } from './words.ts'

const route = getRouteApi('/inside/workspaces/$id')

export function WorkspacePage() {
  const { id } = route.useParams()
  const { data: workspace } = useSuspenseQuery(workspaceQuery(id))
  const [asked, setAsked] = useState<'edit' | 'remove'>()
  const { mutate, error, isPending } = useWorkspaceChange(workspace)
  const isArchived = workspace.status === 'archived'
  useCrumbs({ label: words.team, to: '/team' }, { label: workspace.name })
  const close = () => setAsked(undefined)
  return (
    <div className="scroll">
      <div className="page stack s5">
        <header className="row wide phead wraps">
          <div className="grow">
            <h1 className="h1">{workspace.name}</h1>
            {workspace.description && <p>{workspace.description}</p>}
            <p className="soft">{words.about(workspace.role)}</p>
          </div>
          <span className="row">
            {workspace.can.update === true && (
              <button type="button" className="btn" onClick={() => setAsked('edit')}>
                {words.edit}
              </button>
            )}
            {workspace.can.archive === true && (
              <button
                type="button"
                className="btn"
                disabled={isPending}
                onClick={() => mutate({ update: { status: isArchived ? 'active' : 'archived' } })}
              >
                {isArchived ? words.reactivate : words.archive}
              </button>
            )}
            {workspace.can.remove === true && (
              <button type="button" className="btn danger" onClick={() => setAsked('remove')}>
                {words.remove}
              </button>
            )}
          </span>
        </header>
        {isArchived && <p className="warn">{words.archived}</p>}
        {error && <ProblemBox error={error} />}
        <WorkspaceTeams workspace={workspace} />
        {workspace.can.share === true && <WorkspaceInvites workspace={workspace} />}
        <Projects id={workspace.id} />
        {workspace.folders.length > 0 && (
          <section className="stack">
            <h2 className="h2">{words.folders}</h2>
            <p className="row tight wrap">
              {workspace.folders.map((folder) => (
                <code key={folder} className="chip mono">
                  {folder}
                </code>
              ))}
            </p>
          </section>
        )}
      </div>
      {asked === 'edit' && <EditWorkspace workspace={workspace} onClose={close} />}
      {asked === 'remove' && <Removal workspace={workspace} onClose={close} />}
    </div>
  )
}

function Projects({ id }: { id: string }) {
  const { team } = useRouteContext({ from: '/inside' })
  const { data, error } = useQuery(workspaceProjectsQuery(id))
  return (
    <section className="stack">
      <h2 className="h2">
        {words.projects} {data && <span className="soft t12">{data.items.length}</span>}
      </h2>
      <LoadStatus of={{ data, error }} />
      {data?.items.length === 0 && (
        <p className="soft">
          {words.noProjects} {words.noProjectsText}
        </p>
      )}
      {data && data.items.length > 0 && (
        <ul className="sheet">
          {data.items.map(({ id, slug, key, name, organizationId, stats }) => (
            <li key={id} className="prow">
              <Link className="row wide" to="/projects/$slug" params={{ slug: organizationId === team.id ? slug : id }}>
                <span className="pkey soft t12">{key}</span>
                <b className="b5 cut grow">{name}</b>
                {stats && (
                  <>
                    <ProgressMeter
                      all={stats.tasks}
                      agents={stats.tasksDoneByAgents}
                      people={stats.tasksDone - stats.tasksDoneByAgents}
                    />
                    <span className="soft t12 num stat">{words.progress(stats.tasksDone, stats.tasks)}</span>
                  </>
                )}
              </Link>
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

function Removal({ workspace, onClose }: { workspace: WorkspaceDetail; onClose(): void }) {
  const { mutate, error, isPending } = useWorkspaceChange(workspace)
  const navigate = useNavigate()
  return (
    <Confirm
      title={words.removeTitle(workspace.name)}
      verb={words.remove}
      cancel={words.cancel}
      busy={isPending}
      error={error}
      onConfirm={() => mutate({ remove: true }, { onSuccess: () => void navigate({ to: '/team' }) })}
      onClose={onClose}
    >
      <p>{words.removeText}</p>
    </Confirm>
  )
}
