/** Why a task cannot be claimed or completed now: the tasks that it waits for, who holds them, and ways out. */
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { TaskDetail } from '../../../features/tasks/schema.ts'
import { isClosed } from '../../../records/task-states.ts'
import { words } from './lock-words.ts'
import { taskQuery } from './queries.ts'

interface ReasonProps {
  task: TaskDetail
  /** Sets the tasks that this one waits for; undefined if the reader may not change the task. */
  onWaitsFor: ((ids: string[]) => void) | undefined
  id: string
  refusal: { code: string; detail: string }
}

export function LockReason({ id, task, refusal, onWaitsFor }: ReasonProps) {
  const blockers = task.waitsFor.filter(({ status }) => !isClosed(status))
  if (refusal.code !== 'conflict.blocked' || blockers.length === 0)
    return (
      <p className="t12 soft" id={id}>
        {refusal.detail}
      </p>
    )
  const remove = (gone: string) => onWaitsFor?.(task.waitsFor.map((one) => one.id).filter((one) => one !== gone))
  return (
    <div className="stack s1" id={id}>
      {blockers.map((blocker) => (
        <Blocker key={blocker.id} blocker={blocker} onRemove={onWaitsFor && (() => remove(blocker.id))} />
      ))}
    </div>
  )
}

interface BlockerProps {
  blocker: TaskDetail['waitsFor'][number]
  onRemove: (() => void) | undefined
}

function Blocker({ blocker: { key, title }, onRemove }: BlockerProps) {
  const { data } = useQuery(taskQuery(key))
  const holder = data?.lease?.holder.name
  return (
    <>
      <p className="t12">
        <span className="warn b5">{words.waitsForTask(key)}</span>{' '}
        <span className="soft">{words.blocker(title, holder, data?.assignee?.name)}</span>
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
