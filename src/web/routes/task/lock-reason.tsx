/** Why a task cannot be claimed or completed now: the tasks that it waits for, who holds them, and ways out. */
import { Link } from '@tanstack/react-router'
import type { Blockable, Blocker } from '../../../features/tasks/dependencies/blocker-schema.ts'
import type { TaskDetail } from '../../../features/tasks/schema.ts'
import { lastingSince } from '../../lib/times.ts'
import { words } from './lock-words.ts'

interface ReasonProps {
  task: TaskDetail
  /** Sets the tasks that this one waits for; undefined if the reader may not change the task. */
  onWaitsFor: ((ids: string[]) => void) | undefined
  id: string
  refusal: Exclude<Blockable, true>
}

export function LockReason({ id, task, refusal: { by = [], detail }, onWaitsFor }: ReasonProps) {
  if (by.length === 0)
    return (
      <p className="t12 soft" id={id}>
        {detail}
      </p>
    )
  const remove = (gone: string) => onWaitsFor?.(task.waitsFor.filter(({ key }) => key !== gone).map((one) => one.id))
  return (
    <div className="stack s1" id={id}>
      {by.map((blocker) => (
        <BlockerLine key={blocker.key} blocker={blocker} onRemove={onWaitsFor && (() => remove(blocker.key))} />
      ))}
    </div>
  )
}

function BlockerLine({ blocker, onRemove }: { blocker: Blocker; onRemove: (() => void) | undefined }) {
  const { key } = blocker
  return (
    <>
      <p className="t12">
        <span className="warn b5">{words.waitsForTask(key)}</span>{' '}
        <span className="soft">{words.blocker(blocker, blocker.heldSince && lastingSince(blocker.heldSince))}</span>
      </p>
      <div className="row tight wrap">
        <Link className="btn small" to="/tasks/$key" params={{ key }}>
          {words.openTask(key)}
        </Link>
        {onRemove && (
          <button type="button" className="btn small" onClick={onRemove}>
            {words.removeDependency}
          </button>
        )}
      </div>
    </>
  )
}
