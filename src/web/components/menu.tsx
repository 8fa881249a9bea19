/** Menus. Base UI keeps focus and keys right. */
import { Menu as BaseMenu } from '@base-ui/react/menu'
import { Check } from 'lucide-react'
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
}: {
  trigger: ReactElement
  entries: readonly MenuEntry[]
  onChoose(value: string): void
  /** It is open from the start. */
  open?: boolean
}) {
  return (
    <BaseMenu.Root defaultOpen={open ?? false}>
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
                {entry.chosen && <Check className="i s14" aria-label="selected" />}
              </BaseMenu.Item>
            ))}
          </BaseMenu.Popup>
        </BaseMenu.Positioner>
      </BaseMenu.Portal>
    </BaseMenu.Root>
  )
}
