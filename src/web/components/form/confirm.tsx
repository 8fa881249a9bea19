/** Asks before something that cannot be undone. */
import type { ReactNode } from 'react'
import { ProblemBox } from '../states.tsx'
import { Dialog } from './dialog.tsx'

interface Props {
  title: string
  verb: string
  cancel: string
  busy?: boolean
  error?: Error | null
  onConfirm(): void
  onClose(): void
  children: ReactNode
}

export const Confirm = ({ title, verb, cancel, busy, error, onConfirm, onClose, children }: Props) => (
  <Dialog title={title} open onClose={onClose}>
    <div className="stack">{children}</div>
    {error && <ProblemBox error={error} />}
    <p className="row">
      <span className="grow" />
      <button type="button" className="btn" onClick={onClose}>
        {cancel}
      </button>
      <button type="button" className="btn danger" disabled={busy} onClick={onConfirm}>
        {verb}
      </button>
    </p>
  </Dialog>
)
