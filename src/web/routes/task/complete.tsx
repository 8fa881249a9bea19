/** The button that completes a task. If criteria or subtasks are open, it lists them first. */
import { Popover } from '@base-ui/react/popover'
import { Check } from 'lucide-react'
import { useRef } from 'react'
import type { TaskComplete, TaskDetail } from '../../../features/tasks/schema.ts'
import { words } from './words.ts'

interface Props {
  task: TaskDetail
  busy: boolean
  onComplete(how: TaskComplete): void
}

const isOpen = ({ status }: { status: string }): boolean => status !== 'done' && status !== 'cancelled'

export function CompleteButton({ task, busy, onComplete }: Props) {
  const criteria = task.acceptance.filter(({ done }) => !done)
  const parts = task.subtasks.filter(isOpen)
  if (criteria.length + parts.length === 0)
    return (
      <button type="button" className="btn main" disabled={busy} onClick={() => onComplete({})}>
        <Check className="i s14" aria-hidden />
        {words.complete}
      </button>
    )
  return (
    <Popover.Root>
      <Popover.Trigger className="btn main" disabled={busy}>
        <Check className="i s14" aria-hidden />
        {words.complete}
      </Popover.Trigger>
      <CompletePopup task={task} criteria={criteria} parts={parts} onComplete={onComplete} />
    </Popover.Root>
  )
}

interface PopupProps extends Omit<Props, 'busy'> {
  criteria: TaskDetail['acceptance']
  parts: TaskDetail['subtasks']
}

function CompletePopup({ task, criteria, parts, onComplete }: PopupProps) {
  const anyway = useRef<HTMLButtonElement>(null)
  return (
    <Popover.Portal>
      <Popover.Positioner sideOffset={6} align="end" className="over">
        <Popover.Popup className="pop completepop" aria-label={words.completeOf(task.key)} initialFocus={anyway}>
          {criteria.length > 0 && (
            <>
              <b className="b6">{words.openCriteria(criteria.length, task.acceptance.length)}</b>
              <ul className="t13">
                {criteria.map(({ text }) => (
                  <li className="ac" key={text}>
                    <span className="box" />
                    {text}
                  </li>
                ))}
              </ul>
            </>
          )}
          {parts.length > 0 && (
            <>
              <b className="b6">{words.openParts(parts.length, task.subtasks.length)}</b>
              <ul className="t13">
                {parts.map(({ id, key, title }) => (
                  <li className="ac" key={id}>
                    <span className="key">{key}</span>
                    {title}
                  </li>
                ))}
              </ul>
            </>
          )}
          <p className="t12 soft">{words.completing(task.frees.filter(isOpen), task.lease?.holder.name)}</p>
          <div className="row wrap">
            {criteria.length > 0 && (
              <Popover.Close className="btn small" onClick={() => onComplete({ accepted: 'all' })}>
                {words.tickAndComplete(criteria.length)}
              </Popover.Close>
            )}
            <Popover.Close ref={anyway} className="btn main small" onClick={() => onComplete({})}>
              {words.completeAnyway}
            </Popover.Close>
          </div>
        </Popover.Popup>
      </Popover.Positioner>
    </Popover.Portal>
  )
}
