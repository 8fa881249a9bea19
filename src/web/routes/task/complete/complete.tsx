/** The button that completes a task. If criteria, subtasks or another claim are open, it lists them first. */
import { useRouteContext } from '@tanstack/react-router'
import { Check } from 'lucide-react'
import { Suspense, useState } from 'react'
import { lazy } from '../../../lib/lazy.ts'
import { COMPLETE_KEY } from '../../tasks/pickers/field.ts'
import { words } from '../words.ts'
import type { Completion } from './complete-popover.tsx'
import { isFinished } from './open-items.ts'

const load = async () => ({ default: (await import('./complete-popover.tsx')).CompletePopover })
const LoadedPopover = lazy(load)
/** A failure here is harmless: opening the popover tries again. */
const loadAhead = () => void load().catch(() => undefined)

export function CompleteButton({ task, busy, onComplete }: Completion & { busy: boolean }) {
  const { me } = useRouteContext({ from: '/inside' })
  const [opened, setOpened] = useState(false)
  const atOnce = isFinished(task, me.id)
  const asks = atOnce ? {} : { 'aria-haspopup': 'dialog' as const, onPointerEnter: loadAhead, onFocus: loadAhead }
  const button = (
    <button
      type="button"
      className="btn main"
      data-act="complete"
      aria-keyshortcuts={COMPLETE_KEY}
      disabled={busy}
      onClick={() => (atOnce ? onComplete({}) : setOpened(true))}
      {...asks}
    >
      <Check className="i s14" aria-hidden />
      {words.complete}
    </button>
  )
  if (atOnce || !opened) return button
  return (
    <Suspense fallback={button}>
      <LoadedPopover trigger={button} task={task} onComplete={onComplete} />
    </Suspense>
  )
}
