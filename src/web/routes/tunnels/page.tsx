/** The machines that the team can reach, with what they offer and to whom. */
import { useQuery } from '@tanstack/react-query'
import { useRouteContext } from '@tanstack/react-router'
import { Suspense, useState } from 'react'
import type { Tunnel } from '../../../features/tunnels/schema.ts'
import { CopyLine } from '../../components/copy-line.tsx'
import { AfterAMoment, Empty, ProblemBox, Skeleton } from '../../components/states.tsx'
import { toast } from '../../components/toasts.tsx'
import { lazy } from '../../lazy.ts'
import { ago, dayAndTime } from '../../times.ts'
import { words as common } from '../../words.ts'
import { tunnelsQuery, useTunnel } from './queries.ts'
import { words } from './words.ts'

const Confirm = lazy(async () => ({ default: (await import('../../components/confirm.tsx')).Confirm }))
const tones: Record<Tunnel['status'], string> = { pending: '', connecting: '', online: 'good', offline: 'warn' }

export function TunnelsPage() {
  const { team } = useRouteContext({ from: '/inside' })
  const { data, error } = useQuery(tunnelsQuery(team.id))
  const mayRegister = data?.can?.register === true
  return (
    <div className="scroll">
      <div className="page stack s4">
        <header className="stack s1">
          <h1 className="h1">{words.title}</h1>
          <p className="soft">{words.about}</p>
        </header>
        {error && !data && <ProblemBox error={error} />}
        {!data && !error && (
          <AfterAMoment>
            <Skeleton />
          </AfterAMoment>
        )}
        {data?.items.length === 0 && (
          <Empty title={words.none}>
            <p className="soft">{words.noneText}</p>
          </Empty>
        )}
        {data?.items.map((tunnel) => (
          <TunnelSheet key={tunnel.id} tunnel={tunnel} />
        ))}
        {mayRegister && (
          <div className="sheet ways">
            <CopyLine label={data.items.length > 0 ? words.more : words.connect} text={words.command} />
          </div>
        )}
      </div>
    </div>
  )
}

function TunnelSheet({ tunnel }: { tunnel: Tunnel }) {
  const { hostname, os, architecture, lastSeenAt } = tunnel
  return (
    <section className="sheet pad stack" aria-label={tunnel.name}>
      <header className="row wrap">
        <h2 className="h2 grow">{tunnel.name}</h2>
        {tunnel.paused && <span className="flag warn">{words.paused}</span>}
        <span className={`flag ${tones[tunnel.status]}`}>{words.status[tunnel.status]}</span>
      </header>
      <p className="row wrap t12 soft">
        <span className="mono">{tunnel.slug}</span>
        {hostname && <span>{words.machine(hostname, [os, architecture].join(' '))}</span>}
        {lastSeenAt && (
          <time dateTime={lastSeenAt} title={dayAndTime(lastSeenAt)}>
            {words.seen(ago(lastSeenAt))}
          </time>
        )}
      </p>
      <Services tunnel={tunnel} />
      {tunnel.can?.update === true && <Controls tunnel={tunnel} />}
    </section>
  )
}

function Services({ tunnel: { services } }: { tunnel: Tunnel }) {
  if (services.length === 0) return <p className="soft">{words.noServices}</p>
  return (
    <ul className="stack s1" aria-label={words.services}>
      {services.map(({ name, url, who, ok }) => (
        <li key={name} className="row wrap">
          <b className="b5">{name}</b>
          {url === null ? (
            <span className="t12 soft grow">{words.noAddress}</span>
          ) : (
            <a className="mono t12 grow cut" href={url} target="_blank" rel="noreferrer">
              {url}
            </a>
          )}
          {ok === false && <span className="flag warn">{words.down}</span>}
          <span className="t12 soft">{words.for(who.join(', '))}</span>
        </li>
      ))}
    </ul>
  )
}

function Controls({ tunnel }: { tunnel: Tunnel }) {
  const { update, remove } = useTunnel(tunnel)
  const [isAsked, setAsked] = useState(false)
  const onError = (error: Error) => toast({ title: words.failed, text: error.message, bad: true })
  return (
    <div className="row wrap">
      <select
        className="input slim"
        aria-label={words.access}
        value={tunnel.access}
        disabled={update.isPending}
        onChange={(event) => update.mutate({ access: event.currentTarget.value as Tunnel['access'] }, { onError })}
      >
        {Object.entries(words.accesses).map(([value, label]) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
      <span className="grow" />
      <button
        type="button"
        className="btn small"
        disabled={update.isPending}
        onClick={() => update.mutate({ paused: !tunnel.paused }, { onError })}
      >
        {tunnel.paused ? words.resume : words.pause}
      </button>
      <button type="button" className="btn small danger" onClick={() => setAsked(true)}>
        {words.remove}
      </button>
      {isAsked && (
        <Suspense>
          <Confirm
            title={words.removeOne(tunnel.name)}
            verb={words.remove}
            cancel={common.cancel}
            busy={remove.isPending}
            error={remove.error}
            onConfirm={() => remove.mutate(undefined, { onSuccess: () => setAsked(false) })}
            onClose={() => setAsked(false)}
          >
            <p>{words.removeText}</p>
          </Confirm>
        </Suspense>
      )}
    </div>
  )
}
