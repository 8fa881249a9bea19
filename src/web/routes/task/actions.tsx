/** The buttons that claim and complete a task. If they are locked, they say why, and how to unlock them. */
import { type ReactNode, Suspense, useId } from 'react'
import type { TaskDetail } from '../../../features/tasks/schema.ts'
import { isClosed } from '../../../records/task-states.ts'
import { isLocked, LockedButton } from '../../components/locked-button.tsx'
import { lazy } from '../../lib/lazy.ts'
import { useIsAway } from '../../live/state.ts'
import { words as common } from '../../words.ts'
import { CompleteButton } from './complete/complete.tsx'
import type { TaskAct } from './queries.ts'
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
  if (isClosed(task.status)) return null
  // The holder is shown with a button that takes the task over.
  const showsClaim = !task.lease && (claim === true || isLocked(claim))
  const showsComplete = complete === true || isLocked(complete)
  if (!showsClaim && !showsComplete) return null
  const lock = (can: TaskDetail['can']['claim'], label: string, button: ReactNode) =>
    isAway || can !== true ? <LockedButton reason={reason}>{label}</LockedButton> : button
  const refusal = isLocked(complete) ? complete : isLocked(claim) ? claim : undefined
  return (
    <div className="stack">
      {showsClaim &&
        lock(
          claim,
          words.claim,
          <button type="button" className="btn" disabled={busy} onClick={() => onAct('claim')}>
            {words.claim}
          </button>,
        )}
      {showsComplete &&
        lock(
          complete,
          words.complete,
          <CompleteButton task={task} busy={busy} onComplete={(how) => onAct({ complete: how })} />,
        )}
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
