/** Dialogs. Base UI keeps focus and keys right. */
import { Dialog as Base } from '@base-ui/react/dialog'
import { X } from 'lucide-react'
import type { ReactNode } from 'react'

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
  return (
    <Base.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Base.Portal>
        <Base.Backdrop className="veil" />
        <Base.Popup className="dialog">
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
