/** Asks for the password, or for a code by e-mail, where a change needs a fresh proof of identity. */
import { useMutation } from '@tanstack/react-query'
import { useRouteContext } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import type { useReauthRequest } from '../account/reauth.ts'
import { accounts, codes, ok } from '../api.ts'
import { Dialog } from '../components/form/dialog.tsx'
import { ProblemBox } from '../components/states.tsx'
import { words } from '../words.ts'

type Question = NonNullable<ReturnType<typeof useReauthRequest>>

const codeField = { inputMode: 'numeric', autoComplete: 'one-time-code', pattern: '\\s*(\\d\\s*){6}' } as const
const passwordField = { type: 'password', maxLength: 128, autoComplete: 'current-password' }

export function ReauthDialog({ question }: { question: Question }) {
  const { me } = useRouteContext({ from: '/inside' })
  const [byCode, setByCode] = useState(false)
  const send = useMutation({
    mutationFn: () => ok(codes.auth.otp.send.post({ email: me.email })),
    onSuccess: () => setByCode(true),
  })
  const confirm = useMutation({
    mutationFn: (proof: { password: string } | { code: string }) => ok(accounts.auth.reauth.post(proof)),
    onSuccess: () => question.answer(true),
  })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const proof = String(new FormData(event.currentTarget).get('proof') ?? '')
    confirm.mutate(byCode ? { code: proof.replace(/\s/g, '') } : { password: proof })
  }
  const error = confirm.error ?? send.error
  return (
    <Dialog title={words.reauth.title} open onClose={() => question.answer(false)}>
      <form className="stack s4" onSubmit={submit}>
        <p className="soft">{question.detail}</p>
        <label className="field" key={String(byCode)}>
          <span>{byCode ? words.reauth.code : words.reauth.password}</span>
          <input className="input" name="proof" required {...(byCode ? codeField : passwordField)} />
        </label>
        {byCode && <p className="t12 soft">{send.data?.sent ? words.reauth.sent(me.email) : send.data?.detail}</p>}
        {error && <ProblemBox error={error} />}
        <p className="row">
          {!byCode && (
            <button type="button" className="btn quiet" disabled={send.isPending} onClick={() => send.mutate()}>
              {words.reauth.useCode}
            </button>
          )}
          <span className="grow" />
          <button type="submit" className="btn main" disabled={confirm.isPending}>
            {words.reauth.confirm}
          </button>
        </p>
      </form>
    </Dialog>
  )
}
