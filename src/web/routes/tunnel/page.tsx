/** One machine: its connection, its services, what may be run on it, what was run, and the requests to it. */
import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import type { Tunnel } from '../../../features/tunnels/schema.ts'
import { CopyLine } from '../../components/copy-line.tsx'
import { Section } from '../../components/section.tsx'
import { useCrumbs } from '../../crumbs.ts'
import { ago, dayAndTime } from '../../lib/times.ts'
import { ServiceList, statusTones, TunnelControls } from '../tunnels/parts.tsx'
import { words as listed } from '../tunnels/words.ts'
import { ActionRun } from './action-run.tsx'
import { TunnelActions } from './actions.tsx'
import { ActionHistory } from './history.tsx'
import { requestKey, tunnelQuery, tunnelStatusQuery, useTunnelRequests } from './queries.ts'
import { words } from './words.ts'

const route = getRouteApi('/inside/tunnels/$id')

export function TunnelPage() {
  const { id } = route.useParams()
  const { data: tunnel } = useSuspenseQuery(tunnelQuery(id))
  const [shown, setShown] = useState<string>()
  const navigate = useNavigate()
  useCrumbs({ label: words.tunnels, to: '/tunnels' }, { label: tunnel.name })
  const mayAct = tunnel.can?.act === true
  return (
    <div className="scroll">
      <div className="page stack s5">
        <Head tunnel={tunnel} />
        <Facts tunnel={tunnel} />
        <Section title={words.services} n={tunnel.services.length}>
          <div className="sheet pad">
            <ServiceList tunnel={tunnel} />
          </div>
        </Section>
        {tunnel.mcpServers.length > 0 && <Servers tunnel={tunnel} />}
        {mayAct && <TunnelActions tunnel={tunnel} onRun={setShown} />}
        {shown && <ActionRun key={shown} tunnelId={tunnel.id} actionId={shown} />}
        {(mayAct || tunnel.can?.watch === true) && <ActionHistory tunnelId={tunnel.id} onShow={setShown} />}
        {tunnel.can?.watch === true && <Requests tunnelId={tunnel.id} />}
        {tunnel.can?.update === true && (
          <TunnelControls tunnel={tunnel} onRemoved={() => navigate({ to: '/tunnels' })} />
        )}
      </div>
    </div>
  )
}

function Head({ tunnel }: { tunnel: Tunnel }) {
  const { hostname, os, architecture, lastSeenAt } = tunnel
  return (
    <header className="stack s1">
      <div className="row wrap">
        <h1 className="h1">{tunnel.name}</h1>
        {tunnel.paused && <span className="flag warn">{listed.paused}</span>}
        <span className={`flag ${statusTones[tunnel.status]}`}>{listed.status[tunnel.status]}</span>
      </div>
      <p className="row wrap t12 soft">
        <span className="mono">{tunnel.slug}</span>
        {hostname && <span>{listed.machine(hostname, [os, architecture].join(' '))}</span>}
        {lastSeenAt && (
          <time dateTime={lastSeenAt} title={dayAndTime(lastSeenAt)}>
            {listed.seen(ago(lastSeenAt))}
          </time>
        )}
        {tunnel.labels.map((label) => (
          <span key={label} className="chip">
            {label}
          </span>
        ))}
      </p>
    </header>
  )
}

function Facts({ tunnel }: { tunnel: Tunnel }) {
  const { data } = useQuery(tunnelStatusQuery(tunnel.id))
  const facts: [string, string | null | undefined][] = [
    [words.facts.since, data?.since && tunnel.status === 'online' ? words.since(ago(data.since)) : null],
    [words.facts.rtt, data?.rttMs == null ? null : words.ms(data.rttMs)],
    [words.facts.requests, data?.requests.toLocaleString('en')],
    [words.facts.bytes, data && sizeOf(data.bytes)],
    [words.facts.version, tunnel.clientVersion && `tutti ${tunnel.clientVersion}`],
  ]
  return (
    <dl className="facts">
      {facts
        .filter(([, value]) => value)
        .map(([name, value]) => (
          <div key={name}>
            <dt className="t12 soft">{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  )
}

/** MCP servers of the machine, with the command that connects an agent to each. */
const Servers = ({ tunnel: { slug, mcpServers } }: { tunnel: Tunnel }) => (
  <Section title={words.servers} n={mcpServers.length}>
    <div className="sheet ways">
      {mcpServers.map(({ name, who }) => (
        <CopyLine
          key={name}
          label={`${name}, ${listed.for(who.join(', '))}`}
          text={`tutti connect codex --tunnel ${slug}/${name}`}
        />
      ))}
    </div>
  </Section>
)

const sizeOf = (bytes: number): string =>
  bytes < 1000 ? `${bytes} B` : bytes < 1e6 ? `${(bytes / 1000).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`

function Requests({ tunnelId }: { tunnelId: string }) {
  const requests = useTunnelRequests(tunnelId)
  if (!requests) return null
  return (
    <Section title={words.requests}>
      <div className="stack">
        <p className="soft t12">{words.requestsAbout}</p>
        {requests.length === 0 ? (
          <p className="soft">{words.noRequests}</p>
        ) : (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so keys must reach it
          <section className="sheet tbl roll" tabIndex={0} aria-label={words.requests}>
            <table>
              <tbody>
                {requests.map((request) => (
                  <tr key={requestKey(request)}>
                    <td className="t12 soft nowrap">
                      <time dateTime={request.at} title={dayAndTime(request.at)}>
                        {new Date(request.at).toLocaleTimeString('sv-SE')}
                      </time>
                    </td>
                    <td>{request.service}</td>
                    <td className="mono t12">
                      {request.method} {request.path}
                    </td>
                    <td>
                      <span className={`flag ${request.status < 400 ? 'good' : 'warn'}`}>{request.status}</span>
                    </td>
                    <td className="t12 soft nowrap">{words.ms(request.ms)}</td>
                    <td className="t12 soft">{request.user ?? words.anyone}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </section>
        )}
      </div>
    </Section>
  )
}
