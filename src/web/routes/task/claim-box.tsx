import { useQuery } from '@tanstack/react-query'
import { Link, useRouteContext } from '@tanstack/react-router'
import { useId } from 'react'
import type { TaskDetail } from '../../../features/tasks/schema.ts'
import { useTaskLease } from '../../claimed-tasks.ts'
import { LeaseRing, TimeMark } from '../../components/avatar.tsx'
import { EventTimeline } from '../../components/chart/event-timeline.tsx'
import { LockedButton } from '../../components/locked-button.tsx'
import { ago, clockTime, lastCallLabel, minutesUntil, shareLeft } from '../../lib/times.ts'
import { useIsAway } from '../../live/state.ts'
import { words as common } from '../../words.ts'
import { nowQuery } from '../now/queries.ts'
import { words } from './words.ts'

interface Props {
  task: TaskDetail
  may(action: 'update' | 'release'): boolean
  onAct(act: 'take' | 'release'): void
  busy: boolean
}

/** Who holds the task: for whom, since when and why, how long still, the last call and the last change. */
export function ClaimBox({ task, may, onAct, busy }: Props) {
  const { me } = useRouteContext({ from: '/inside' })
  const { stalled = false, lastChangeAt } = useTaskLease(task.id) ?? {}
  const isAway = useIsAway()
  const reason = useId()
  const { lease } = task
  if (!lease) return null
  const mine = lease.holder.type === 'user' && lease.holder.id === me.id
  return (
    <div className={stalled ? 'holdbox stalled' : 'holdbox'}>
      <div className="row wide">
        <LeaseRing party={lease.holder} left={shareLeft(lease.lastSeenAt, lease.expiresAt)} size="l" />
        <span className="grow stack s1">
          <span className="row tight">
            <b className="b6">{lease.holder.name}</b>
            {lease.holder.for && <span className="soft">{words.for(lease.holder.for.name)}</span>}
          </span>
          <span className="row wide wrap">
            <span className="soft t12">{common.minutesLeft(minutesUntil(lease.expiresAt))}</span>
            <TimeMark text={words.lastCall(lastCallLabel(lease.lastSeenAt))} title="" />
            {lastChangeAt && <TimeMark text={words.lastChange(ago(lastChangeAt))} title="" change late={stalled} />}
          </span>
        </span>
      </div>
      <ClaimTimeline task={task} lease={lease} />
      <div className="row">
        <span className="soft t12 grow">
          {words.since(clockTime(lease.since), lease.why)}{' '}
          {lease.sessionId && (
            <Link className="link" to="/sessions/$id" params={{ id: lease.sessionId }}>
              {words.session}
            </Link>
          )}
        </span>
        {may('release') && !isAway && (
          <button type="button" className="btn small quiet" disabled={busy} onClick={() => onAct('release')}>
            {words.release}
          </button>
        )}
        {may('update') && !mine && !isAway && (
          <button type="button" className="btn small" disabled={busy} onClick={() => onAct('take')}>
            {words.takeOver}
          </button>
        )}
        {isAway && may('release') && <LockedButton reason={reason}>{words.release}</LockedButton>}
        {isAway && may('update') && !mine && <LockedButton reason={reason}>{words.takeOver}</LockedButton>}
      </div>
      {isAway && (
        <p className="t12 soft" id={reason}>
          {common.needsConnection}
        </p>
      )}
    </div>
  )
}

/** Changes and calls of the holder in the last two hours. */
function ClaimTimeline({ task, lease }: { task: TaskDetail; lease: NonNullable<TaskDetail['lease']> }) {
  const { team } = useRouteContext({ from: '/inside' })
  const { data } = useQuery(nowQuery(team.id, '2'))
  const lane = data?.lanes.find((one) => one.task?.id === task.id)
  if (!data || !lane) return null
  const now = data.loadedAt
  const span = { from: now - 2 * HOUR, until: Math.max(now + HOUR / 2, Date.parse(lease.expiresAt)) }
  const calls = lane.calls.map(({ minute, n }) => ({ at: Date.parse(minute), n }))
  return (
    <EventTimeline
      span={span}
      name={words.staff(
        lane.marks.length,
        calls.reduce((sum, { n }) => sum + n, 0),
      )}
      calls={calls}
      marks={lane.marks.map(({ eventId, at, line }) => ({
        id: eventId,
        at: Date.parse(at),
        line,
        by: lane.party.type,
      }))}
      hold={{
        since: Date.parse(lease.since),
        until: now,
        expires: Date.parse(lease.expiresAt),
        by: lease.holder.type,
      }}
      {...(lane.stalled && { stall: { since: Date.parse(lane.lastChangeAt ?? lease.since) } })}
    />
  )
}

const HOUR = 3_600_000
