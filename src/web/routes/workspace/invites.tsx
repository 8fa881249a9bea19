/** The pending invitations to a workspace, and the form that sends another. */
import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useRef } from 'react'
import type { WorkspaceInvite, WorkspaceInviteSent } from '../../../features/workspaces/invite-schema.ts'
import type { TeamAdd, WorkspaceDetail } from '../../../features/workspaces/schema.ts'
import { CopyButton } from '../../components/copy-button.tsx'
import { Field } from '../../components/form/fields.tsx'
import { useRemoval } from '../../components/form/removal.tsx'
import { RowButton } from '../../components/form/row-button.tsx'
import { ProblemBox } from '../../components/states.tsx'
import { day } from '../../lib/times.ts'
import { useCancelInvite, useInviteTeam, workspaceInvitesQuery } from './queries.ts'
import { RoleOptions } from './teams.tsx'
import { words } from './words.ts'

export function WorkspaceInvites({ workspace: { id } }: { workspace: WorkspaceDetail }) {
  const { data = [], error } = useQuery(workspaceInvitesQuery(id))
  const invite = useInviteTeam(id)
  const [ask, asked] = useRemoval(useCancelInvite(id), (one: WorkspaceInvite) => ({
    input: one.id,
    title: words.cancelTitle(one.email),
    text: words.cancelText,
    verb: words.cancelInvite,
    cancel: words.keepInvite,
  }))
  return (
    <section className="stack" aria-label={words.invites}>
      <h2 className="h2">
        {words.invites} <span className="soft t12">{data.length}</span>
      </h2>
      <p className="soft">{words.invitesAbout}</p>
      {data.length > 0 && (
        <ul className="sheet">
          {data.map((one) => (
            <li key={one.id} className="setrow">
              <span className="grow wrapany">{one.email}</span>
              <span className="row">
                <span className="flag">{one.role}</span>
                <span className="t12 soft">{words.until(day(one.expiresAt))}</span>
                <RowButton label={words.cancel} name={words.cancelOf(one.email)} onClick={() => ask(one)} />
              </span>
            </li>
          ))}
        </ul>
      )}
      <InviteForm busy={invite.isPending} onInvite={(value) => invite.mutate(value)} />
      {(error ?? invite.error) && <ProblemBox error={(error ?? invite.error) as Error} />}
      {invite.data && <Sent invite={invite.data} />}
      {asked}
    </section>
  )
}

interface FormProps {
  busy: boolean
  onInvite(invite: { email: string; role: TeamAdd['role'] }): void
}

function InviteForm({ busy, onInvite }: FormProps) {
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = event.currentTarget
    const values = new FormData(form)
    onInvite({ email: String(values.get('email')).trim(), role: String(values.get('role')) as TeamAdd['role'] })
    form.reset()
  }
  return (
    <form className="row inviteform" onSubmit={submit}>
      <Field label={words.email} grow name="email" type="email" required maxLength={254} autoComplete="off" />
      <label className="field">
        <span>{words.addRole}</span>
        <select className="input" name="role" defaultValue="editor">
          <RoleOptions />
        </select>
      </label>
      <button type="submit" className="btn" disabled={busy}>
        {words.inviteTeam}
      </button>
    </form>
  )
}

function Sent({ invite: { email, link, mailed } }: { invite: WorkspaceInviteSent }) {
  const source = useRef<HTMLElement>(null)
  if (mailed) return <p role="status">{words.sent(email)}</p>
  return (
    <div className="stack" role="status">
      <p>{words.passOn(email)}</p>
      <div className="secret">
        <code className="mono grow cut" ref={source}>
          {link}
        </code>
        <CopyButton text={link} source={source} name={words.link} />
      </div>
    </div>
  )
}
