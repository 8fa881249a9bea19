/** Menus. Base UI keeps focus and keys right. */
import { Menu as BaseMenu } from '@base-ui/react/menu'
import { Check } from 'lucide-react'
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
}

/** A button that opens a list of which one is chosen. `trigger` is the button as it looks. */
export function Menu({
  trigger,
  entries,
  onChoose,
  open,
  head,
  className = 'menu',
}: {
  trigger: ReactElement
  entries: readonly MenuEntry[]
  onChoose(value: string): void
  /** It is open from the start. */
  open?: boolean
  /** Shown above the entries. */
  head?: ReactElement
  className?: string
}) {
  return (
    <BaseMenu.Root defaultOpen={open ?? false}>
      <BaseMenu.Trigger render={trigger} />
      <BaseMenu.Portal>
        <BaseMenu.Positioner sideOffset={4} align="start" className="over">
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
                  closeOnClick={!entry.stays}
                  className={entry.danger ? 'opt bad' : 'opt'}
                  onClick={() => onChoose(entry.value)}
                >
                  {entry.glyph}
                  <span className="grow cut">{entry.label}</span>
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
