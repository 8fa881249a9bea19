/** The buttons that claim and complete a task. If they are locked, they say why, and how to unlock them. */
import { type ReactNode, Suspense, useId } from 'react'
import type { TaskDetail } from '../../../features/tasks/schema.ts'
import { isClosed } from '../../../records/task-states.ts'
import { isLocked, LockedButton } from '../../components/locked-button.tsx'
import { lazy } from '../../lib/lazy.ts'
import { useIsAway } from '../../live/state.ts'
import { useCommands } from '../../shortcuts.ts'
import { words as common } from '../../words.ts'
import { COMPLETE_KEY } from '../tasks/pickers/field.ts'
import { pressComplete } from '../tasks/pickers/press-field.ts'
import { CompleteButton } from './complete/complete.tsx'
import type { TaskAct } from './queries.ts'
import { useKeyScope } from './section.tsx'
import { words } from './words.ts'

const LockReason = lazy(async () => ({ default: (await import('./lock-reason.tsx')).LockReason }))

interface Props {
  task: TaskDetail
  busy: boolean
  onAct(act: TaskAct): void
  /** Sets the tasks that this one waits for; undefined if the reader may not change the task. */
  onWaitsFor: ((ids: string[]) => void) | undefined
}

export function TaskActions({ task, busy, onAct, onWaitsFor }: Props) {
  const isAway = useIsAway()
  const reason = useId()
  const { claim, complete } = task.can
  const isOpen = !isClosed(task.status)
  // The holder is shown with a button that takes the task over.
  const showsClaim = isOpen && !task.lease && (claim === true || isLocked(claim))
  const showsComplete = isOpen && (complete === true || isLocked(complete))
  const scope = useKeyScope()
  useCommands(showsComplete ? [{ keys: COMPLETE_KEY, label: words.complete, scope, run: pressComplete }] : [])
  if (!showsClaim && !showsComplete) return null
  const lock = (act: 'claim' | 'complete', button: ReactNode) =>
    isAway || task.can[act] !== true ? (
      <LockedButton reason={reason} act={act}>
        {words[act]}
      </LockedButton>
    ) : (
      button
    )
  const refusal = isLocked(complete) ? complete : isLocked(claim) ? claim : undefined
  return (
    <div className="stack">
      {showsClaim &&
        lock(
          'claim',
          <button type="button" className="btn" disabled={busy} onClick={() => onAct('claim')}>
            {words.claim}
          </button>,
        )}
      {showsComplete &&
        lock('complete', <CompleteButton task={task} busy={busy} onComplete={(how) => onAct({ complete: how })} />)}
      {isAway ? (
        <p className="t12 soft" id={reason}>
          {common.needsConnection}
        </p>
      ) : (
        refusal && (
          <Suspense>
            <LockReason id={reason} task={task} refusal={refusal} onWaitsFor={onWaitsFor} />
          </Suspense>
        )
      )}
    </div>
  )
}
