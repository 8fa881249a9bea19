/** An invitation to a workspace and its answer, on its own page and in the inbox. */
import { useId } from 'react'
import type { WorkspaceInviteDetail } from '../../../features/workspaces/invite-schema.ts'
import { ProblemBox } from '../../components/states.tsx'
import { toast } from '../../components/toasts.tsx'
import { day } from '../../times.ts'
import { useAnswer } from './queries.ts'
import { words } from './words.ts'

interface Props {
  invite: WorkspaceInviteDetail
  onSettled?(): void
}

export function InviteText({ invite: { workspace, role, status, invitedBy, expiresAt } }: Props) {
  if (status !== 'pending') return <p>{words.status[status]}</p>
  return (
    <>
      <p>{words.text(workspace.name, workspace.organization.name)}</p>
      {workspace.description && <blockquote className="soft">{workspace.description}</blockquote>}
      <p>
        {words.roles[role]} {words.consequence}
      </p>
      {invitedBy && <p className="soft t13">{words.by(invitedBy.name, day(expiresAt))}</p>}
    </>
  )
}

export function InviteAnswer({ invite, onSettled }: Props) {
  const { id, teams, can, workspace } = invite
  const { mutate, error, isPending } = useAnswer(id)
  const field = useId()
  if (can.decline !== true) return can.decline.code === 'gone' ? null : <p className="soft">{can.decline.detail}</p>
  const accept = (teamId: string) =>
    mutate(
      { teamId },
      {
        onSuccess: () => {
          toast({ title: words.joined(teams.find((team) => team.id === teamId)?.name ?? '', workspace.name) })
          onSettled?.()
        },
      },
    )
  const decline = () =>
    mutate('decline', {
      onSuccess: () => {
        toast({ title: words.declined })
        onSettled?.()
      },
    })
  return (
    <form
      className="stack grow"
      onSubmit={(event) => {
        event.preventDefault()
        accept(String(new FormData(event.currentTarget).get('team')))
      }}
    >
      {error && <ProblemBox error={error} />}
      {can.accept !== true && <p className="soft">{can.accept.detail}</p>}
      <div className="row inviteform">
        {can.accept === true && (
          <div className="field grow">
            <label htmlFor={field}>{words.team}</label>
            <select className="input" id={field} name="team">
              {teams.map(({ id, name }) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
            </select>
          </div>
        )}
        <button type="button" className="btn" disabled={isPending} onClick={decline}>
          {words.decline}
        </button>
        {can.accept === true && (
          <button type="submit" className="btn main" disabled={isPending}>
            {words.accept}
          </button>
        )}
      </div>
    </form>
  )
}
