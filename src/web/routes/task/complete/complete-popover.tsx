/** Lists what is still open in a task before it is completed. Loaded once its button is pointed at or focused. */
import { Popover } from '@base-ui/react/popover'
import { useRouteContext } from '@tanstack/react-router'
import { type ReactElement, useRef } from 'react'
import type { TaskComplete, TaskDetail } from '../../../../features/tasks/schema.ts'
import { lastingSince } from '../../../lib/times.ts'
import { words } from './complete-words.ts'
import { isOpen, openItems } from './open-items.ts'

export interface Completion {
  task: TaskDetail
  onComplete(how: TaskComplete): void
}

export const CompletePopover = ({ trigger, ...rest }: Completion & { trigger: ReactElement }) => (
  <Popover.Root defaultOpen>
    <Popover.Trigger render={trigger} />
    <Popup {...rest} />
  </Popover.Root>
)

/** The same at a row of a list, which has no button. */
export const CompletePopoverAt = ({ onClose, ...rest }: Completion & { anchor: Element; onClose(): void }) => (
  <Popover.Root open onOpenChange={(open) => !open && onClose()}>
    <Popup {...rest} />
  </Popover.Root>
)

function Popup({ task, anchor, onComplete }: Completion & { anchor?: Element }) {
  const { me } = useRouteContext({ from: '/inside' })
  const { criteria, parts, claim } = openItems(task, me.id)
  const anyway = useRef<HTMLButtonElement>(null)
  return (
    <Popover.Portal>
      <Popover.Positioner sideOffset={6} align="end" className="over" {...(anchor && { anchor })}>
        <Popover.Popup className="pop completepop" aria-label={words.label(task.key)} initialFocus={anyway}>
          {claim && <b className="b6">{words.heldBy(claim.holder.name, lastingSince(claim.since))}</b>}
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
