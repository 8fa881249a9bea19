/** The button that completes a task. If criteria or subtasks are open, it lists them first. */
import { Check } from 'lucide-react'
import { Suspense, useState } from 'react'
import { isClosed } from '../../../../records/task-states.ts'
import { lazy } from '../../../lib/lazy.ts'
import { words } from '../words.ts'
import type { Completion } from './complete-popover.tsx'

const load = async () => ({ default: (await import('./complete-popover.tsx')).CompletePopover })
const LoadedPopover = lazy(load)
/** A failure here is harmless: opening the popover tries again. */
const loadAhead = () => void load().catch(() => undefined)

export function CompleteButton({ task, busy, onComplete }: Completion & { busy: boolean }) {
  const [opened, setOpened] = useState(false)
  const isFinished = task.acceptance.every(({ done }) => done) && task.subtasks.every(({ status }) => isClosed(status))
  const asks = isFinished ? {} : { 'aria-haspopup': 'dialog' as const, onPointerEnter: loadAhead, onFocus: loadAhead }
  const button = (
    <button
      type="button"
      className="btn main"
      disabled={busy}
      onClick={() => (isFinished ? onComplete({}) : setOpened(true))}
      {...asks}
    >
      <Check className="i s14" aria-hidden />
      {words.complete}
    </button>
  )
  if (isFinished || !opened) return button
  return (
    <Suspense fallback={button}>
      <LoadedPopover trigger={button} task={task} onComplete={onComplete} />
    </Suspense>
  )
}
