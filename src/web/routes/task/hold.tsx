import type { TaskDetail } from '../../../features/tasks/schema.ts'
import { Clock, LeaseRing } from '../../components/party.tsx'
import { ago, dayAndTime, lastCall, minutesUntil, shareLeft } from '../../times.ts'
import { words as common } from '../../words.ts'
import { words } from './words.ts'

interface Props {
  task: TaskDetail
  may(action: 'claim' | 'release'): boolean
  onAct(act: 'claim' | 'release'): void
  busy: boolean
}

/** Who holds the task: for whom, since when, how long still, the last call and the last change. */
export function HoldBox({ task, may, onAct, busy }: Props) {
  const { lease } = task
  if (!lease) return null
  return (
    <div className="holdbox">
      <div className="row wide">
        <LeaseRing party={lease.holder} left={shareLeft(lease.lastSeenAt, lease.expiresAt)} size="l" />
        <span className="grow stack s1">
          <span className="row tight">
            <b className="b6">{lease.holder.name}</b>
            {lease.holder.for && <span className="soft">{words.for(lease.holder.for.name)}</span>}
          </span>
          <span className="row wide wrap">
            <span className="soft t12">{common.minutesLeft(minutesUntil(lease.expiresAt))}</span>
            <Clock text={words.lastCall(lastCall(lease.lastSeenAt))} title="" />
            <Clock text={words.lastChange(ago(task.updatedAt))} title="" change />
          </span>
        </span>
      </div>
      <div className="row">
        <span className="soft t12 grow">{words.since(dayAndTime(lease.since))}</span>
        {may('release') && (
          <button type="button" className="btn small quiet" disabled={busy} onClick={() => onAct('release')}>
            {words.release}
          </button>
        )}
      </div>
    </div>
  )
}
