/** A button that the reader may use, but not now. It stays in its place, can be focused, and says why. */
import { Lock } from 'lucide-react'
import type { ReactNode } from 'react'

interface Props {
  /** The id of the element that says why. */
  reason: string
  title?: string | undefined
  children: ReactNode
}

export const LockedButton = ({ reason, title, children }: Props) => (
  <button type="button" className="btn off" aria-disabled aria-describedby={reason} title={title}>
    <Lock className="i s14" aria-hidden />
    {children}
  </button>
)

/** A role that lacks a right does not see the control. Any other refusal can end, so its control is shown as locked. */
export const isLocked = <C extends { code: string }>(can: true | C): can is C =>
  can !== true && !can.code.startsWith('forbidden')
