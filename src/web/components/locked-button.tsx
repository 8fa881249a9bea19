/** A button that the reader may use, but not now. It stays in its place, can be focused, and says why. */
import { Lock } from 'lucide-react'
import type { ReactNode } from 'react'

interface Props {
  /** The id of the element that says why. */
  reason: string
  title?: string | undefined
  /** What it would do, by which a key finds it. */
  act?: string
  children: ReactNode
}

export const LockedButton = ({ reason, title, act, children }: Props) => (
  <button type="button" className="btn off" data-act={act} aria-disabled aria-describedby={reason} title={title}>
    <Lock className="i s14" aria-hidden />
    {children}
  </button>
)

/** A role that lacks a right does not see the control. Any other refusal can end, so its control is shown as locked. */
export const isLocked = <C extends { code: string }>(can: true | C): can is C =>
  can !== true && !can.code.startsWith('forbidden')
