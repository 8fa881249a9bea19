/** The dialogs of a project, loaded when one is opened: its settings, who sees it, and what agents read. */
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import type { ProjectDetail } from '../../../features/projects/schema.ts'
import { CopyLine } from '../../components/copy-line.tsx'
import { Dialog } from '../../components/form/dialog.tsx'
import { Field, TextArea } from '../../components/form/fields.tsx'
import { ProblemBox } from '../../components/states.tsx'
import { toast } from '../../components/toasts.tsx'
import { words as common } from '../../words.ts'
import { workspacesQuery } from '../team/queries.ts'
import { ColorPicker } from './color-picker.tsx'
import { MoveProject } from './move.tsx'
import { useProjectChange } from './queries.ts'
import { words } from './words.ts'

export type ProjectDialog = 'settings' | 'share' | 'agents'

interface Props {
  project: ProjectDetail
  onClose(): void
}

export default function Dialogs({ asked, ...props }: Props & { asked: ProjectDialog }) {
  if (asked === 'share') return <Share {...props} />
  return asked === 'settings' ? <Settings {...props} /> : <AgentsFile {...props} />
}

function Settings({ project, onClose }: Props) {
  const [name, setName] = useState(project.name)
  const [description, setDescription] = useState(project.description ?? '')
  const [key, setKey] = useState(project.key)
  const [color, setColor] = useState(project.color)
  const { mutate, error, isPending } = useProjectChange(project)
  const remove = useProjectRemoval(project)
  return (
    <Dialog title={words.edit.title} open onClose={onClose}>
      <form
        className="stack s4"
        onSubmit={(event) => {
          event.preventDefault()
          const update = {
            name: name.trim(),
            description: description.trim() || null,
            color,
            ...(key !== project.key && { key }),
          }
          mutate({ update }, { onSuccess: onClose })
        }}
      >
        <Field label={words.edit.name} required maxLength={100} value={name} onText={setName} />
        <Field
          label={words.edit.key}
          required
          pattern="[A-Z]{2,6}"
          hint={key === project.key ? undefined : words.edit.keyText}
          maxLength={6}
          value={key}
          onText={(text) => setKey(text.toUpperCase())}
        />
        <ColorPicker color={color} onChoose={setColor} />
        <TextArea
          label={words.edit.description}
          rows={3}
          maxLength={10_000}
          value={description}
          onText={setDescription}
        />
        {project.can?.gates === true && (
          <label className="row">
            <input
              type="checkbox"
              checked={project.settings.allowSelfReview === true}
              disabled={isPending}
              onChange={(event) =>
                mutate({ update: { settings: { ...project.settings, allowSelfReview: event.currentTarget.checked } } })
              }
            />
            <span>{words.edit.selfReview}</span>
          </label>
        )}
        {(error ?? remove.error) && <ProblemBox error={(error ?? remove.error) as Error} />}
        <div className="row wraps">
          <button type="submit" className="btn main" disabled={isPending || name.trim() === ''}>
            {words.edit.save}
          </button>
          <span className="grow" />
          {project.can?.archive === true && (
            <button
              type="button"
              className="btn"
              onClick={() =>
                mutate({ act: project.status === 'archived' ? 'restore' : 'archive' }, { onSuccess: onClose })
              }
            >
              {project.status === 'archived' ? words.edit.unarchive : words.edit.archive}
            </button>
          )}
          {project.can?.remove === true && (
            <button type="button" className="btn bad" onClick={remove.run}>
              {words.edit.remove}
            </button>
          )}
        </div>
      </form>
      <MoveProject project={project} />
    </Dialog>
  )
}

/** Deletes a project and goes back to the list, from where it can be undone at once. */
function useProjectRemoval(project: ProjectDetail) {
  const navigate = useNavigate()
  const { mutate, mutateAsync, error } = useProjectChange(project)
  // Not with `mutate`: the page of the project is gone by then.
  const undo = () =>
    void mutateAsync({ act: 'restore' }).then(
      () => toast({ title: words.edit.restored(project.name) }),
      (refused: Error) => toast({ title: refused.message, bad: true }),
    )
  const run = () =>
    mutate(
      { act: 'remove' },
      {
        onSuccess: () => {
          void navigate({ to: '/projects' })
          toast({ title: words.edit.removed(project.name), action: { label: common.undo, run: undo } })
        },
      },
    )
  return { run, error }
}

const visibilities = ['private', 'team', 'public'] as const

function Share({ project, onClose }: Props) {
  const { mutate, error, isPending } = useProjectChange(project)
  return (
    <Dialog title={words.share} open onClose={onClose}>
      <fieldset className="stack" disabled={isPending}>
        <legend className="soft t12">{words.edit.visibility}</legend>
        {visibilities.map((visibility) => (
          <label key={visibility} className="row">
            <input
              type="radio"
              name="visibility"
              checked={project.visibility === visibility}
              onChange={() => mutate({ share: { visibility } })}
            />
            <span>{words.edit[visibility]}</span>
          </label>
        ))}
      </fieldset>
      <InWorkspace project={project} busy={isPending} onChoose={(what) => mutate(what)} />
      {(project.workspaceId !== null || project.visibility === 'public') && (
        <p className="row wraps">
          <button type="button" className="btn" disabled={isPending} onClick={() => mutate({ act: 'unshare' })}>
            {words.edit.unshare}
          </button>
          <span className="soft t12 grow">{words.edit.unshareText}</span>
        </p>
      )}
      {error && <ProblemBox error={error} />}
      <p className="soft">
        {words.edit.people}{' '}
        <Link className="link" to="/team">
          {words.edit.invite}
        </Link>
      </p>
    </Dialog>
  )
}

interface InWorkspaceProps {
  project: ProjectDetail
  busy: boolean
  onChoose(what: { share: { workspaceId: string | null } }): void
}

/** The workspace in which the project is shared with other teams. */
function InWorkspace({ project: { organizationId, workspaceId }, busy, onChoose }: InWorkspaceProps) {
  const found = useQuery(workspacesQuery(organizationId)).data?.items ?? []
  if (found.length === 0) return null
  return (
    <label className="field">
      <span>{words.edit.workspace}</span>
      <select
        className="input"
        disabled={busy}
        value={workspaceId ?? ''}
        onChange={({ currentTarget: { value } }) => onChoose({ share: { workspaceId: value || null } })}
      >
        <option value="">{words.edit.noWorkspace}</option>
        {found.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
      {workspaceId && (
        <Link className="link t12" to="/workspaces/$id" params={{ id: workspaceId }}>
          {words.edit.openWorkspace}
        </Link>
      )}
    </label>
  )
}

const AgentsFile = ({ project, onClose }: Props) => (
  <Dialog title={words.agentsFile} open onClose={onClose}>
    <div className="stack s4">
      <p className="soft">{words.agentsText}</p>
      <CopyLine label={words.agentsLine} text={words.agentsMd(project.key, project.name)} say />
      <CopyLine label={words.terminal} text={`tutti link ${project.key}`} />
    </div>
  </Dialog>
)
