import { useMutation, useQueryClient, useSuspenseQuery } from '@tanstack/react-query'
import { meQuery } from '../../account/session.ts'
import { accounts, ok } from '../../api.ts'
import { Field } from '../../components/form/fields.tsx'
import { Section } from '../../components/section.tsx'
import { ProblemBox } from '../../components/states.tsx'
import { Form, SettingsSheet } from './parts.tsx'
import { titles, securityWords as w } from './words.ts'

export function Settings() {
  const me = useSuspenseQuery(meQuery).data
  return (
    <SettingsSheet title={titles.security}>
      {!me.emailVerifiedAt && <Unverified email={me.email} />}
      <Password email={me.email} least={me.role === 'admin' ? 15 : 12} />
      <Address email={me.email} />
    </SettingsSheet>
  )
}

function Password({ email, least }: { email: string; least: number }) {
  const cache = useQueryClient()
  const change = useMutation({
    mutationFn: (passwords: { newPassword: string; currentPassword?: string }) =>
      ok(accounts.auth['change-password'].post(passwords)),
    onSettled: () => cache.invalidateQueries({ queryKey: ['settings'] }),
  })
  return (
    <Section title={w.password}>
      <Form
        verb={w.change}
        busy={change.isPending}
        error={change.error}
        done={change.isSuccess ? w.changed : undefined}
        onSave={({ currentPassword, newPassword = '' }, form) =>
          change.mutate({ newPassword, ...(currentPassword && { currentPassword }) }, { onSuccess: () => form.reset() })
        }
      >
        {/* Tells password managers which account it is. */}
        <input type="email" value={email} autoComplete="username" hidden readOnly />
        <Field
          label={w.current}
          hint={w.currentHint}
          name="currentPassword"
          type="password"
          maxLength={128}
          autoComplete="current-password"
        />
        <Field
          label={w.next}
          hint={w.nextHint(least)}
          name="newPassword"
          type="password"
          required
          minLength={least}
          maxLength={128}
          autoComplete="new-password"
        />
      </Form>
    </Section>
  )
}

function Address({ email }: { email: string }) {
  const move = useMutation({
    mutationFn: async (to: string) => {
      const { sent, detail } = await ok(accounts.auth['email-change'].post({ email: to }))
      return sent ? w.sent(to, email) : w.kept(to, detail ?? '', email)
    },
  })
  return (
    <Section title={w.email} n={email}>
      <Form
        verb={w.move}
        busy={move.isPending}
        error={move.error}
        done={move.data}
        onSave={({ email: to = '' }) => move.mutate(to.trim())}
      >
        <Field label={w.newEmail} name="email" type="email" required maxLength={254} autoComplete="email" />
      </Form>
    </Section>
  )
}

function Unverified({ email }: { email: string }) {
  const send = useMutation({ mutationFn: () => ok(accounts.auth['verify-email'].post({})) })
  const saysOf = ({ sent, detail }: { sent?: boolean; detail?: string }) =>
    sent ? w.mailed(email) : w.mailKept(email, detail ?? '')
  return (
    <div className="nomatch">
      <p role="status">{send.data ? saysOf(send.data) : w.unverified(email)}</p>
      {send.error && <ProblemBox error={send.error} />}
      <button type="button" className="btn small" disabled={send.isPending} onClick={() => send.mutate()}>
        {w.again}
      </button>
    </div>
  )
}
