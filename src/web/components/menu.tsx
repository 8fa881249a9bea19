/** Menus. Base UI keeps focus and keys right. */
import { Menu as BaseMenu } from '@base-ui/react/menu'
import { Check, Lock } from 'lucide-react'
import { type FocusEvent, Fragment, type ReactElement, type ReactNode } from 'react'
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
 * With Preact, a menu that a key opens keeps the focus, although its first entry is highlighted some frames later: the
 * first arrow key would do nothing.
 */
function focusHighlighted({ target, currentTarget: menu }: FocusEvent<HTMLElement>): void {
  const look = (frames: number) =>
    requestAnimationFrame(() => {
      if (document.activeElement !== menu) return
      const entry = menu.querySelector<HTMLElement>('[data-highlighted]')
      if (entry) entry.focus()
      else if (frames > 0) look(frames - 1)
    })
  if (target === menu) look(10)
}

/**
 * A button that opens a list of which one is chosen. `trigger` is the button as it looks; a menu without one is open at
 * its anchor until `onClose`.
 */
export function Menu({
  trigger,
  anchor,
  onNear,
  onClose,
  entries,
  onChoose,
  open,
  head,
  className = 'menu',
}: {
  trigger?: ReactElement
  anchor?: Element
  /** The button is pointed at or focused. Handlers of the trigger itself would be lost: Preact renames onFocus. */
  onNear?: (() => void) | undefined
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
      {trigger && <BaseMenu.Trigger render={trigger} onPointerEnter={onNear} onFocus={onNear} />}
      <BaseMenu.Portal>
        <BaseMenu.Positioner sideOffset={4} align="start" className="over" {...(anchor && { anchor })}>
          <BaseMenu.Popup className={className} onFocus={focusHighlighted}>
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
