import type { Tunnel, TunnelStatus } from '../../../src/features/tunnels/schema.ts'
import { withHints } from '../../api/hints.ts'
import { type ServerChoice, signedInClient } from '../../api/profiles.ts'
import { pathTo } from '../../api/reference.ts'
import { fetchPages, listOutput } from '../../nouns/resource.ts'
import { printNote, printResult, recordLines } from '../../terminal/output.ts'
import { Refusal } from '../../terminal/refusal.ts'
import { timeAgo } from '../../terminal/times.ts'

interface Options extends ServerChoice {
  json?: boolean
}

const lastSeenText = (instant: string | null): string => (instant ? timeAgo(instant) : 'never')

/** Returns why the machine of a tunnel cannot be used now, and what to do; undefined if it can. */
export function describeOffline({ slug, status: state, paused, lastSeenAt }: Tunnel): string | undefined {
  if (paused) return `${slug} is paused. Accept requests again: tutti tunnel update ${slug} --resume`
  if (state === 'online') return undefined
  if (state === 'pending') return `${slug} is offline: no machine has claimed it yet.`
  const last = lastSeenAt ? `, last seen ${timeAgo(lastSeenAt)}` : ''
  return `${slug} is offline${last}. Connect it: run "tutti tunnel up" on its machine.`
}

export async function listTunnels({ json, ...where }: Options): Promise<void> {
  const { client } = signedInClient(where)
  const page = await withHints(client, () => fetchPages<Tunnel>(client, '/api/tunnels', { all: true }))
  const shown = listOutput(
    page,
    [
      { title: 'Tunnel', of: (t) => t.slug },
      { title: 'Name', of: (t) => t.name, wide: true },
      { title: 'Status', of: (t) => (t.paused ? `${t.status}, paused` : t.status) },
      { title: 'Access', of: (t) => t.access },
      { title: 'Services', of: (t) => t.services.map(({ name }) => name).join(', ') },
      { title: 'Seen', of: (t) => lastSeenText(t.lastSeenAt) },
    ],
    'No tunnels. Connect this machine: tutti tunnel up --http web=3000',
  )
  printResult(json, shown.value, ...shown.lines)
  if (shown.note && !json) printNote(shown.note)
}

export async function showTunnel(ref: string, { json, ...where }: Options): Promise<void> {
  const { client } = signedInClient(where)
  const [tunnel, now] = await withHints(client, async () => {
    const found = await client.get<Tunnel>(pathTo('/api/tunnels/:id', ref))
    return [found, await client.get<TunnelStatus>(pathTo('/api/tunnels/:id/status', found.id))] as const
  })
  const services = tunnel.services.map(
    ({ name, url, who, ok }) =>
      `  ${name}  ${url ?? 'no address'}  for ${who.join(', ')}${ok === false ? '  not responding' : ''}`,
  )
  printResult(
    json,
    { ...tunnel, connection: now },
    ...recordLines({
      Tunnel: tunnel.name,
      Slug: tunnel.slug,
      Status: tunnel.paused ? `${now.status}, paused` : now.status,
      Access: tunnel.access,
      Machine: tunnel.hostname && `${tunnel.hostname} (${tunnel.os} ${tunnel.architecture})`,
      Since: now.since && timeAgo(now.since),
      Seen: lastSeenText(tunnel.lastSeenAt),
      'Round trip': now.rttMs === null ? null : `${now.rttMs} ms`,
      '24 hours': `${now.requests} requests, ${now.bytes} bytes`,
      Id: tunnel.id,
    }),
    ...(services.length > 0 ? ['', 'Services:', ...services] : []),
  )
}

interface Changes extends Options {
  name?: string
  access?: string
  pause?: boolean
  resume?: boolean
}

export async function updateTunnel(
  ref: string,
  { json, name, access, pause, resume, ...where }: Changes,
): Promise<void> {
  if (pause && resume) throw new Refusal('Use either --pause or --resume.')
  const paused = pause ? true : resume ? false : undefined
  const changes = { ...(name && { name }), ...(access && { access }), ...(paused !== undefined && { paused }) }
  if (Object.keys(changes).length === 0)
    throw new Refusal('Nothing to change. Run with --help to see what can be changed.')
  const { client } = signedInClient(where)
  const changed = await withHints(client, () => client.request<Tunnel>('PUT', pathTo('/api/tunnels/:id', ref), changes))
  printResult(json, changed, `Updated ${changed.slug}.`)
}

export async function deleteTunnel(ref: string, { json, ...where }: Options): Promise<void> {
  const { client } = signedInClient(where)
  const removed = await withHints(client, () => client.request('DELETE', pathTo('/api/tunnels/:id', ref)))
  printResult(json, removed, `Deleted ${ref}. Its machine was disconnected.`)
}
