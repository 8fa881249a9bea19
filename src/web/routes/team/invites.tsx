import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useRef } from 'react'
import type { Role } from '../../../auth/policy.ts'
import type { Invite, InviteSent } from '../../../features/invites/schema.ts'
import { CopyButton } from '../../components/copy-button.tsx'
import { Field, Select } from '../../components/form/fields.tsx'
import { useRemoval } from '../../components/form/removal.tsx'
import { RowButton } from '../../components/form/row-button.tsx'
import { ProblemBox } from '../../components/states.tsx'
import { day } from '../../lib/times.ts'
import { invitesQuery, useInvite, useWithdrawInvite } from './queries.ts'
import { words } from './words.ts'

interface Props {
  team: string
  may: boolean
  gives: readonly Role[]
}

export function TeamInvites({ team, may, gives }: Props) {
  const { data = [], error } = useQuery(invitesQuery(team))
  const invite = useInvite(team)
  const [ask, asked] = useRemoval(useWithdrawInvite(team), ({ id, email }: Invite) => ({
    input: id,
    title: words.withdrawTitle(email),
    text: words.withdrawText,
    verb: words.withdraw,
    cancel: words.cancel,
  }))
  return (
    <section className="stack" aria-label={words.invites}>
      <h2 className="h2">
        {words.invites} <span className="soft t12">{data.length}</span>
      </h2>
      <p className="soft">{words.invitesAbout}</p>
      {data.length === 0 ? (
        <p className="soft">{words.none}</p>
      ) : (
        <ul className="sheet">
          {data.map((item) => (
            <li key={item.id} className="setrow">
              <span className="grow wrapany">{item.email}</span>
              <span className="flag">{words.roles[item.role]}</span>
              <span className="t12 soft">
                {Date.parse(item.expiresAt) > Date.now() ? words.until(day(item.expiresAt)) : words.expired}
              </span>
              {may && gives.includes(item.role) && (
                <>
                  <RowButton
                    label={words.again}
                    name={words.againOf(item.email)}
                    onClick={() => invite.mutate({ email: item.email, role: item.role })}
                  />
                  <RowButton label={words.withdraw} name={words.withdrawOf(item.email)} onClick={() => ask(item)} />
                </>
              )}
            </li>
          ))}
        </ul>
      )}
      {may && <InviteForm gives={gives} busy={invite.isPending} onInvite={(value) => invite.mutate(value)} />}
      {(error ?? invite.error) && <ProblemBox error={(error ?? invite.error) as Error} />}
      {invite.data && <InviteSentMessage invite={invite.data} />}
      {asked}
    </section>
  )
}

interface FormProps {
  gives: readonly Role[]
  busy: boolean
  onInvite(invite: { email: string; role: Role }): void
}

export function InviteForm({ gives, busy, onInvite }: FormProps) {
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = event.currentTarget
    const values = new FormData(form)
    onInvite({ email: String(values.get('email')).trim(), role: String(values.get('role')) as Role })
    form.reset()
  }
  return (
    <form className="row inviteform" onSubmit={submit}>
      <Field label={words.email} grow name="email" type="email" required maxLength={254} autoComplete="off" />
      <Select
        label={words.role}
        name="role"
        defaultValue="member"
        options={gives.map((role) => ({ value: role, label: words.abilities[role] }))}
      />
      <button type="submit" className="btn" disabled={busy}>
        {words.invite}
      </button>
    </form>
  )
}

/** Without a mail server the inviter hands the link over; it is shown once. */
export function InviteSentMessage({
  invite: { email, link, detail },
}: {
  invite: Pick<InviteSent, 'email' | 'link' | 'detail'>
}) {
  const source = useRef<HTMLElement>(null)
  if (!link) return <p role="status">{detail ?? words.sent(email)}</p>
  return (
    <div className="stack" role="status">
      <p>{words.handOver(email)}</p>
      <div className="secret">
        <code className="mono grow cut" ref={source}>
          {link}
        </code>
        <CopyButton text={link} source={source} name={words.link} />
      </div>
    </div>
  )
}
