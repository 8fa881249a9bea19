/** Dialogs. Base UI keeps focus and keys right. */
import { Dialog as Base } from '@base-ui/react/dialog'
import { X } from 'lucide-react'
import { type ReactNode, useRef } from 'react'

/** Focuses the first field of a form, except on touch screens, where the keyboard would hide the rest. */
const firstField = (popup: HTMLElement | null, how: string): HTMLElement | true =>
  (how !== 'touch' && popup?.querySelector<HTMLElement>('form :is(input, textarea, select):not([type=hidden])')) || true

export function Dialog({
  title,
  open,
  onClose,
  children,
}: {
  title: string
  open: boolean
  onClose(): void
  children: ReactNode
}) {
  const popup = useRef<HTMLDivElement>(null)
  return (
    <Base.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Base.Portal>
        <Base.Backdrop className="veil" />
        <Base.Popup ref={popup} className="dialog" initialFocus={(how) => firstField(popup.current, how)}>
          <header className="row">
            <Base.Title className="h2 grow">{title}</Base.Title>
            <Base.Close className="ib" aria-label="Close">
              <X className="i" aria-hidden />
            </Base.Close>
          </header>
          {children}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  )
}
