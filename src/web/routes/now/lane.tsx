import { Link } from '@tanstack/react-router'
import { Hand, TriangleAlert } from 'lucide-react'
import type { Lane } from '../../../features/now/schema.ts'
import { Avatar, LeaseRing } from '../../components/avatar.tsx'
import { EventTimeline, type TimeSpan } from '../../components/chart/event-timeline.tsx'
import { StatusGlyph } from '../../components/glyphs.tsx'
import { ago, clockTime, lastCallLabel, minutesUntil, shareLeft } from '../../lib/times.ts'
import { statusNames } from '../../words.ts'
import type { LaneAct } from './queries.ts'
import { words } from './words.ts'

interface Props {
  lane: Lane
  /** An agent under the person it works for. */
  under: boolean
  you: boolean
  chosen: boolean
  span: TimeSpan
  now: number
  busy: boolean
  onChoose(): void
  onAct(act: Exclude<LaneAct, object>): void
  onAsk(): void
}

export function LaneRow({ lane, under, you, chosen, span, now, busy, onChoose, onAct, onAsk }: Props) {
  const { party, task, lease, stalled } = lane
  const classes = ['lane', under && 'own', !lease && 'idle', stalled && 'stuck stalled', chosen && 'chosen']
  return (
    <article
      className={classes.filter(Boolean).join(' ')}
      aria-label={party.name}
      aria-current={chosen ? 'true' : undefined}
      onPointerDown={onChoose}
    >
      <div className="who">
        {lease ? (
          <LeaseRing party={party} left={shareLeft(lease.lastSeenAt, lease.expiresAt, now)} size="l" />
        ) : (
          <Avatar party={party} size="l" />
        )}
        <div className="stack who-t">
          <h2 className="row tight">
            <b className="b6 nm cut">{party.name}</b>
            {you && <span className="soft t12 nowrap">{words.you}</span>}
            {lane.for && (
              <span className="soft t12 nowrap" title={lane.for.name}>
                {words.for(lane.for.name.split(' ')[0] ?? '')}
              </span>
            )}
            {stalled && (
              <span className="flag warn">
                <TriangleAlert className="i s12" aria-hidden />
                {words.stalled}
              </span>
            )}
          </h2>
          {task && lease ? (
            <>
              <Link className="holds row tight" to="/tasks/$key" params={{ key: task.key }}>
                <StatusGlyph status={task.status} name={statusNames[task.status]} />
                <span className="soft nowrap">{task.key}</span>
                <span className="cut">{task.title}</span>
              </Link>
              <span className="t12 soft cut" title={lease.why ?? undefined}>
                {words.since(clockTime(lease.since), lease.why)}
              </span>
            </>
          ) : (
            <span className="t12 soft">{words.holdsNothing}</span>
          )}
        </div>
      </div>
      <div className="strip">
        <LaneTimeline lane={lane} span={span} now={now} />
      </div>
      <div className="side-r">
        <Clocks lane={lane} now={now} />
        <Buttons lane={lane} you={you} busy={busy} onAct={onAct} onAsk={onAsk} />
      </div>
    </article>
  )
}

function LaneTimeline({ lane, span, now }: Pick<Props, 'lane' | 'span' | 'now'>) {
  const { party, lease, stalled, lastChangeAt, marks } = lane
  const quietSince = Date.parse(lastChangeAt ?? lease?.since ?? '')
  const quiet = Math.floor((now - quietSince) / 60_000)
  const calls = lane.calls.map(({ minute, n }) => ({ at: Date.parse(minute), n }))
  const name = stalled
    ? words.staffStalled(
        marks.length,
        quiet,
        calls.filter(({ at }) => at >= quietSince).reduce((sum, { n }) => sum + n, 0),
      )
    : lease
      ? words.staffHeld(marks.length, minutesUntil(lease.expiresAt, now))
      : words.staff(marks.length, party.name)
  return (
    <EventTimeline
      span={span}
      name={name}
      now={now}
      calls={calls}
      marks={marks.map(({ eventId, at, line }) => ({ id: eventId, at: Date.parse(at), line, by: party.type }))}
      hold={
        lease
          ? { since: Date.parse(lease.since), until: now, expires: Date.parse(lease.expiresAt), by: party.type }
          : undefined
      }
      stall={stalled ? { since: quietSince, label: words.stalledFor(quiet) } : undefined}
    />
  )
}

function Clocks({ lane, now }: Pick<Props, 'lane' | 'now'>) {
  const { party, lease, lastChangeAt, stalled, waiting } = lane
  const round = party.type === 'user' ? ' round' : ''
  return (
    <>
      {lease && <span className={`clock${round}`}>{words.lastCall(lastCallLabel(lease.lastSeenAt, now))}</span>}
      {lastChangeAt ? (
        <span className={`clock change${round}${stalled ? ' late' : ''}`}>
          {words.lastChange(ago(lastChangeAt, now))}
        </span>
      ) : (
        <span className="t12 soft">{words.noChange}</span>
      )}
      {lease && !stalled && <span className="t12 soft">{words.leaseLeft(minutesUntil(lease.expiresAt, now))}</span>}
      {lease && (
        <span className={waiting.length > 0 ? 't12' : 't12 soft'}>
          {waiting.length > 0 ? words.waits(waiting.map(({ key }) => key)) : words.nobodyWaits}
        </span>
      )}
    </>
  )
}

/** The way out of a stalled lane; quieter on the others. Nothing that the server would refuse. */
function Buttons({ lane, you, busy, onAct, onAsk }: Pick<Props, 'lane' | 'you' | 'busy' | 'onAct' | 'onAsk'>) {
  const { can, stalled, party } = lane
  if (!can) return null
  return (
    <span className="row tight">
      {can.update === true && !you && (
        <button
          type="button"
          className={stalled ? 'btn small warnish' : 'btn small quiet'}
          disabled={busy}
          onClick={() => onAct('take')}
        >
          {stalled && <Hand className="i s14" aria-hidden />}
          {words.takeOver}
        </button>
      )}
      {can.release === true && you && (
        <button type="button" className="btn small quiet" disabled={busy} onClick={() => onAct('release')}>
          {words.giveBack}
        </button>
      )}
      {can.comment === true && party.type === 'agent' && (
        <button type="button" className="btn small quiet" disabled={busy} onClick={onAsk}>
          {words.ask}
        </button>
      )}
    </span>
  )
}
