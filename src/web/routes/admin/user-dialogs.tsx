/** What administrators do to one user, each in a dialog that says what follows from it. */
import { useMutation } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import { useRef, useState } from 'react'
import { startImpersonation } from '../../account/impersonation.ts'
import { clearRequestTeam } from '../../api.ts'
import { CopyButton } from '../../components/copy-button.tsx'
import { Confirm } from '../../components/form/confirm.tsx'
import { Dialog } from '../../components/form/dialog.tsx'
import { Field, TextArea } from '../../components/form/fields.tsx'
import { toast } from '../../components/toasts.tsx'
import { timeOfDay } from '../../lib/times.ts'
import { queryClient } from '../../query-client.ts'
import { impersonateUser, notifyUser, readSignInCode, resetPassword, suspendUser, useAdminChange } from './queries.ts'
import { words } from './words.ts'

interface AskProps {
  user: { id: string; name: string }
  onClose(): void
}

export function SuspendDialog({ user, onClose }: AskProps) {
  const change = useAdminChange(suspendUser)
  return (
    <Confirm
      title={words.users.suspendTitle(user.name)}
      verb={words.users.suspend}
      cancel={words.cancel}
      busy={change.isPending}
      error={change.error}
      onConfirm={() => change.mutate(user.id, { onSuccess: onClose })}
      onClose={onClose}
    >
      <p>{words.users.suspendText}</p>
    </Confirm>
  )
}

/** The user of the tab changes, so all loaded data is dropped. */
export function ImpersonateDialog({ user, onClose }: AskProps) {
  const router = useRouter()
  const [reason, setReason] = useState('')
  const change = useMutation({ mutationFn: impersonateUser })
  // Leave this page first: the user has no access to it.
  const begin = async ({ token = '', expiresAt }: { token?: string; expiresAt: string }) => {
    await router.navigate({ to: '/', search: { team: undefined } })
    startImpersonation({ token, expiresAt, name: user.name })
    clearRequestTeam()
    queryClient.clear()
    await router.invalidate()
  }
  return (
    <Confirm
      title={words.users.actTitle(user.name)}
      verb={words.users.actAs}
      cancel={words.cancel}
      busy={change.isPending || reason.trim() === ''}
      error={change.error}
      onConfirm={() => change.mutate({ id: user.id, reason: reason.trim() }, { onSuccess: begin })}
      onClose={onClose}
    >
      <p>{words.users.actText}</p>
      <Field label={words.users.reason} value={reason} maxLength={500} onText={setReason} />
    </Confirm>
  )
}

export function ResetPasswordDialog({ user, onClose }: AskProps) {
  const change = useAdminChange(resetPassword)
  const done = ({ sent, link }: { sent: boolean; link?: string }) => {
    if (link) return
    toast({ title: sent ? words.user.resetSent : words.user.resetKept })
    onClose()
  }
  if (change.data?.link) return <ResetLink user={user} link={change.data.link} onClose={onClose} />
  return (
    <Confirm
      title={words.user.resetTitle(user.name)}
      verb={words.user.reset}
      cancel={words.cancel}
      busy={change.isPending}
      error={change.error}
      onConfirm={() => change.mutate(user.id, { onSuccess: done })}
      onClose={onClose}
    >
      <p>{words.user.resetText}</p>
    </Confirm>
  )
}

/** Without a mail server, the administrator passes the link on. It is shown this once. */
function ResetLink({ user, link, onClose }: AskProps & { link: string }) {
  const source = useRef<HTMLElement>(null)
  return (
    <Dialog title={words.user.resetLinkTitle(user.name)} open onClose={onClose}>
      <div className="stack" role="status">
        <p>{words.user.resetLinkText}</p>
        <div className="secret">
          <code className="mono grow cut" ref={source}>
            {link}
          </code>
          <CopyButton text={link} source={source} name={words.user.resetLink} />
        </div>
      </div>
      <p className="row">
        <span className="grow" />
        <button type="button" className="btn" onClick={onClose}>
          {words.user.passedOn}
        </button>
      </p>
    </Dialog>
  )
}

/** Shows the code that was sent to a user who cannot read their mail. The user is notified. */
export function SignInCodeDialog({ user, onClose }: AskProps) {
  const read = useAdminChange(readSignInCode)
  return (
    <Confirm
      title={words.user.codeTitle(user.name)}
      verb={words.user.readCode}
      cancel={words.cancel}
      busy={read.isPending || read.isSuccess}
      error={read.error}
      onConfirm={() => read.mutate(user.id)}
      onClose={onClose}
    >
      <p>{words.user.codeText}</p>
      {read.data && (
        <p role="status">
          <b className="figure">{read.data.code}</b>{' '}
          <span className="soft">{words.user.codeUntil(timeOfDay(read.data.expiresAt))}</span>
        </p>
      )}
    </Confirm>
  )
}

export function NotifyDialog({ user, onClose }: AskProps) {
  const [title, setTitle] = useState('')
  const [message, setMessage] = useState('')
  const send = useAdminChange(notifyUser)
  const text = { id: user.id, title: title.trim(), ...(message.trim() && { message: message.trim() }) }
  const done = () => {
    toast({ title: words.user.notified(user.name) })
    onClose()
  }
  return (
    <Confirm
      title={words.user.notifyTitle(user.name)}
      verb={words.user.send}
      cancel={words.cancel}
      busy={send.isPending || text.title === ''}
      error={send.error}
      onConfirm={() => send.mutate(text, { onSuccess: done })}
      onClose={onClose}
    >
      <Field label={words.announcements.title} value={title} maxLength={200} onText={setTitle} />
      <TextArea label={words.announcements.message} rows={4} value={message} maxLength={2000} onText={setMessage} />
    </Confirm>
  )
}
