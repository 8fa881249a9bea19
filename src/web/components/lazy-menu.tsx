import { type ComponentProps, cloneElement, type KeyboardEvent, type ReactElement, Suspense, useState } from 'react'
import { lazy } from '../lib/lazy.ts'
import type { Menu } from './menu.tsx'

const load = async () => ({ default: (await import('./menu.tsx')).Menu })
const Loaded = lazy(load)
/** A failure here is harmless: opening the menu tries again. */
const loadAhead = () => void load().catch(() => undefined)

interface Props extends Omit<ComponentProps<typeof Menu>, 'trigger' | 'open'> {
  trigger: ReactElement<ComponentProps<'button'>>
}

/**
 * A menu whose script is loaded once its button is pointed at or reached by keyboard: it is larger than most pages, and
 * few visits open one.
 */
export function LazyMenu({ trigger, onNear, ...menu }: Props) {
  const [opened, setOpened] = useState(false)
  const open = () => setOpened(true)
  const comeNear = () => {
    loadAhead()
    onNear?.()
  }
  const button = cloneElement(trigger, {
    'aria-haspopup': 'menu',
    'aria-expanded': false,
    onPointerEnter: comeNear,
    onFocus: comeNear,
    onClick: open,
    onKeyDown: (event: KeyboardEvent) => {
      if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return
      event.preventDefault()
      open()
    },
  })
  if (!opened) return button
  return (
    <Suspense fallback={button}>
      <Loaded trigger={trigger} open {...menu} />
    </Suspense>
  )
}
