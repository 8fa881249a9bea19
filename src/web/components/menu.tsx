/** Menus. Base UI keeps focus and keys right. */
import { Menu as BaseMenu } from '@base-ui/react/menu'
import { Check, Lock } from 'lucide-react'
import { Fragment, type ReactElement, type ReactNode } from 'react'
import { keyLabels } from '../shortcuts.ts'
import { Kbd } from './status-bar.tsx'

export interface MenuEntry {
  value: string
  label: string
  glyph?: ReactNode
  chosen?: boolean
  danger?: boolean
  /** The shortcut that does the same. */
  keys?: string
  /** A line above it separates it from the entries before. */
  apart?: boolean
  /** The menu stays open, for several choices. */
  stays?: boolean
  /** Why it cannot be chosen now. */
  locked?: string
}

/**
 * A button that opens a list of which one is chosen. `trigger` is the button as it looks; a menu without one is open at
 * its anchor until `onClose`.
 */
export function Menu({
  trigger,
  anchor,
  onClose,
  entries,
  onChoose,
  open,
  head,
  className = 'menu',
}: {
  trigger?: ReactElement
  anchor?: Element
  onClose?(): void
  entries: readonly MenuEntry[]
  onChoose(value: string): void
  /** It is open from the start. */
  open?: boolean
  /** Shown above the entries. */
  head?: ReactElement
  className?: string
}) {
  return (
    <BaseMenu.Root
      {...(anchor ? { open: true } : { defaultOpen: open ?? false })}
      onOpenChange={(isOpen) => !isOpen && onClose?.()}
    >
      {trigger && <BaseMenu.Trigger render={trigger} />}
      <BaseMenu.Portal>
        <BaseMenu.Positioner sideOffset={4} align="start" className="over" {...(anchor && { anchor })}>
          <BaseMenu.Popup className={className}>
            {head && (
              <BaseMenu.Group>
                <BaseMenu.GroupLabel render={head} />
              </BaseMenu.Group>
            )}
            {entries.map((entry) => (
              <Fragment key={entry.value}>
                {entry.apart && <BaseMenu.Separator className="apart" />}
                <BaseMenu.Item
                  closeOnClick={!entry.stays && !entry.locked}
                  className={entry.danger ? 'opt bad' : entry.locked ? 'opt locked' : 'opt'}
                  aria-disabled={entry.locked ? true : undefined}
                  onClick={() => !entry.locked && onChoose(entry.value)}
                >
                  {entry.glyph}
                  {entry.locked && <Lock className="i s14" aria-hidden />}
                  <span className={entry.locked ? 'grow' : 'grow cut'}>
                    {entry.label}
                    {entry.locked && <span className="t12 soft"> {entry.locked}</span>}
                  </span>
                  {entry.chosen && <Check className="i s14" aria-label="selected" />}
                  {entry.keys && (
                    <span className="row tight" aria-hidden>
                      {keyLabels(entry.keys).map((cap) => (
                        <Kbd key={cap}>{cap}</Kbd>
                      ))}
                    </span>
                  )}
                </BaseMenu.Item>
              </Fragment>
            ))}
          </BaseMenu.Popup>
        </BaseMenu.Positioner>
      </BaseMenu.Portal>
    </BaseMenu.Root>
  )
}
