import { useQuery } from '@tanstack/react-query'
import { Link, useRouteContext } from '@tanstack/react-router'
import { StatusGlyph } from '../../components/glyphs.tsx'
import { Clock, LeaseRing } from '../../components/party.tsx'
import { AfterAMoment, Empty, ProblemBox, Skeleton } from '../../components/states.tsx'
import { dayAndTime, lastCall, minutesUntil, shareLeft } from '../../times.ts'
import { statusNames } from '../../words.ts'
import { heldQuery } from './queries.ts'
import { words } from './words.ts'

export function NowPage() {
  const { team } = useRouteContext({ from: '/inside' })
  const { data, error } = useQuery(heldQuery(team.id))
  return (
    <>
      <div className="viewbar">
        <h1 className="h2">{words.title}</h1>
        {data && <span className="soft t13 sum">{words.atWork(data.length)}</span>}
      </div>
      <div className="scroll nowlist">
        {error && !data && <ProblemBox error={error} />}
        {!data && !error && (
          <AfterAMoment>
            <Skeleton />
          </AfterAMoment>
        )}
        {data?.length === 0 && (
          <Empty title={words.none}>
            <p className="soft">{words.noneText}</p>
            <code className="code">{words.command}</code>
          </Empty>
        )}
        {data?.map(({ id, key, title, status, lease }) => (
          <article key={id} className="lane" aria-label={lease.holder.name}>
            <div className="who">
              <LeaseRing party={lease.holder} left={shareLeft(lease.lastSeenAt, lease.expiresAt)} size="l" />
              <div className="stack who-t">
                <div className="row tight">
                  <b className="b6 nm cut">{lease.holder.name}</b>
                  {lease.holder.for && <span className="soft t12 nowrap">{words.for(lease.holder.for.name)}</span>}
                </div>
                <Link className="holds row tight" to="/tasks/$key" params={{ key }}>
                  <StatusGlyph status={status} name={statusNames[status]} />
                  <span className="soft nowrap">{key}</span>
                  <span className="cut">{title}</span>
                </Link>
                <span className="t12 soft cut">{words.since(dayAndTime(lease.since))}</span>
              </div>
            </div>
            <div />
            <div className="side-r">
              <Clock text={words.call(lastCall(lease.lastSeenAt))} title="" />
              <span className="t12 soft">{words.leaseLeft(minutesUntil(lease.expiresAt))}</span>
            </div>
          </article>
        ))}
      </div>
    </>
  )
}
