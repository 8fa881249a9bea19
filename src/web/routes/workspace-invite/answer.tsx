/** An invitation to a workspace and its answer, on its own page and in the inbox. */
import { useId } from 'react'
import type { WorkspaceInviteDetail } from '../../../features/workspaces/invite-schema.ts'
import { ProblemBox } from '../../components/states.tsx'
import { toast } from '../../components/toasts.tsx'
import { day } from '../../lib/times.ts'
import { useAnswerInvitation } from './queries.ts'
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
      {workspace.description && <p className="soft">{workspace.description}</p>}
      <p>
        {words.roles[role]} {words.consequence}
      </p>
      {invitedBy && <p className="soft t13">{words.by(invitedBy.name, day(expiresAt))}</p>}
    </>
  )
}

export function InvitationForm({ invite, onSettled }: Props) {
  const { id, teams, can, workspace } = invite
  const nameOf = (teamId: string) => teams.find((team) => team.id === teamId)?.name ?? ''
  const { mutate, error, isPending } = useAnswerInvitation(id, (answer) => {
    toast({ title: answer === 'decline' ? words.declined : words.joined(nameOf(answer.teamId), workspace.name) })
    onSettled?.()
  })
  const field = useId()
  if (can.decline !== true) return can.decline.code === 'gone' ? null : <p className="soft">{can.decline.detail}</p>
  return (
    <form
      className="stack grow"
      onSubmit={(event) => {
        event.preventDefault()
        mutate({ teamId: String(new FormData(event.currentTarget).get('team')) })
      }}
    >
      {error && <ProblemBox error={error} />}
      {can.accept !== true && <p className="soft">{can.accept.detail}</p>}
      <div className="row inviteform">
        {can.accept === true && (
          <div className="field grow">
            <label htmlFor={field}>{words.team}</label>
            <select className="input" id={field} name="team" required>
              {teams.length > 1 && <option value="">{words.choose}</option>}
              {teams.map(({ id, name }) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
            </select>
          </div>
        )}
        <span className="row">
          <button type="button" className="btn" disabled={isPending} onClick={() => mutate('decline')}>
            {words.decline}
          </button>
          {can.accept === true && (
            <button type="submit" className="btn main" disabled={isPending}>
              {words.accept}
            </button>
          )}
        </span>
      </div>
    </form>
  )
}
