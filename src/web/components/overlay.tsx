/** What floats above a page: menus and dialogs. Base UI keeps focus and keys right. */
import { Dialog as Base } from '@base-ui/react/dialog'
import { Menu as BaseMenu } from '@base-ui/react/menu'
import { Check, X } from 'lucide-react'
import type { ReactElement, ReactNode } from 'react'

export interface MenuEntry {
  value: string
  label: string
  glyph?: ReactNode
  chosen?: boolean
  danger?: boolean
}

/** A button that opens a list of which one is chosen. `trigger` is the button as it looks. */
export function Menu({
  trigger,
  entries,
  onChoose,
  open,
  onOpenChange,
}: {
  trigger: ReactElement
  entries: readonly MenuEntry[]
  onChoose(value: string): void
  open?: boolean
  onOpenChange?(open: boolean): void
}) {
  return (
    <BaseMenu.Root open={open} onOpenChange={(next) => onOpenChange?.(next)}>
      <BaseMenu.Trigger render={trigger} />
      <BaseMenu.Portal>
        <BaseMenu.Positioner sideOffset={4} align="start" className="over">
          <BaseMenu.Popup className="menu">
            {entries.map((entry) => (
              <BaseMenu.Item
                key={entry.value}
                className={entry.danger ? 'opt bad' : 'opt'}
                onClick={() => onChoose(entry.value)}
              >
                {entry.glyph}
                <span className="grow cut">{entry.label}</span>
                {entry.chosen && <Check className="i s14" aria-label="chosen" />}
              </BaseMenu.Item>
            ))}
          </BaseMenu.Popup>
        </BaseMenu.Positioner>
      </BaseMenu.Portal>
    </BaseMenu.Root>
  )
}

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
