/** The machines that the team can reach, with what they offer and to whom. */
import { useQuery } from '@tanstack/react-query'
import { Link, useRouteContext } from '@tanstack/react-router'
import type { Tunnel } from '../../../features/tunnels/schema.ts'
import { CopyLine } from '../../components/copy-line.tsx'
import { EmptyState, LoadStatus } from '../../components/states.tsx'
import { ago, dayAndTime } from '../../lib/times.ts'
import { ServiceList, statusTones, TunnelControls } from './parts.tsx'
import { tunnelsQuery } from './queries.ts'
import { words } from './words.ts'

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
        <LoadStatus of={{ data, error }} />
        {data?.items.length === 0 && (
          <EmptyState title={words.none}>
            <p className="soft">{words.noneText}</p>
          </EmptyState>
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
        <h2 className="h2 grow">
          <Link className="link" to="/tunnels/$id" params={{ id: tunnel.slug }}>
            {tunnel.name}
          </Link>
        </h2>
        {tunnel.paused && <span className="flag warn">{words.paused}</span>}
        <span className={`flag ${statusTones[tunnel.status]}`}>{words.status[tunnel.status]}</span>
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
      <ServiceList tunnel={tunnel} />
      {tunnel.can?.update === true && <TunnelControls tunnel={tunnel} />}
    </section>
  )
}
