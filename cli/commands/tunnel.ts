import type { Tunnel, TunnelStatus } from '../../src/features/tunnels/schema.ts'
import { helped } from '../api/hints.ts'
import { signedInClient, type Where } from '../api/profiles.ts'
import { at } from '../api/reference.ts'
import { listed, pages } from '../nouns/resource.ts'
import { note, print, record } from '../terminal/output.ts'
import { Refusal } from '../terminal/refusal.ts'
import { ago } from '../terminal/times.ts'

interface Options extends Where {
  json?: boolean
}

const seen = (instant: string | null): string => (instant ? ago(instant) : 'never')

/** Returns why the machine of a tunnel cannot be used now, and what to do; undefined if it can. */
export function describeOffline({ slug, status: state, paused, lastSeenAt }: Tunnel): string | undefined {
  if (paused) return `${slug} is paused. Accept requests again: tutti tunnel update ${slug} --resume`
  if (state === 'online') return undefined
  if (state === 'pending') return `${slug} is offline: no machine has claimed it yet.`
  const last = lastSeenAt ? `, last seen ${ago(lastSeenAt)}` : ''
  return `${slug} is offline${last}. Connect it: run "tutti tunnel up" on its machine.`
}

export async function list({ json, ...where }: Options): Promise<void> {
  const { client } = signedInClient(where)
  const page = await helped(client, () => pages<Tunnel>(client, '/api/tunnels', { all: true }))
  const shown = listed(
    page,
    [
      { title: 'Tunnel', of: (t) => t.slug },
      { title: 'Name', of: (t) => t.name, wide: true },
      { title: 'Status', of: (t) => (t.paused ? `${t.status}, paused` : t.status) },
      { title: 'Access', of: (t) => t.access },
      { title: 'Services', of: (t) => t.services.map(({ name }) => name).join(', ') },
      { title: 'Seen', of: (t) => seen(t.lastSeenAt) },
    ],
    'No tunnels. Connect this machine: tutti tunnel up --http web=3000',
  )
  print(json, shown.value, ...shown.lines)
  if (shown.note && !json) note(shown.note)
}

export async function status(ref: string, { json, ...where }: Options): Promise<void> {
  const { client } = signedInClient(where)
  const [tunnel, now] = await helped(client, async () => {
    const found = await client.get<Tunnel>(at('/api/tunnels/:id', ref))
    return [found, await client.get<TunnelStatus>(at('/api/tunnels/:id/status', found.id))] as const
  })
  const services = tunnel.services.map(
    ({ name, url, who, ok }) =>
      `  ${name}  ${url ?? 'no address'}  for ${who.join(', ')}${ok === false ? '  not responding' : ''}`,
  )
  print(
    json,
    { ...tunnel, connection: now },
    ...record({
      Tunnel: tunnel.name,
      Slug: tunnel.slug,
      Status: tunnel.paused ? `${now.status}, paused` : now.status,
      Access: tunnel.access,
      Machine: tunnel.hostname && `${tunnel.hostname} (${tunnel.os} ${tunnel.architecture})`,
      Since: now.since && ago(now.since),
      Seen: seen(tunnel.lastSeenAt),
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

export async function update(ref: string, { json, name, access, pause, resume, ...where }: Changes): Promise<void> {
  if (pause && resume) throw new Refusal('Use either --pause or --resume.')
  const paused = pause ? true : resume ? false : undefined
  const changes = { ...(name && { name }), ...(access && { access }), ...(paused !== undefined && { paused }) }
  if (Object.keys(changes).length === 0)
    throw new Refusal('Nothing to change. Run with --help to see what can be changed.')
  const { client } = signedInClient(where)
  const changed = await helped(client, () => client.request<Tunnel>('PUT', at('/api/tunnels/:id', ref), changes))
  print(json, changed, `Updated ${changed.slug}.`)
}

export async function remove(ref: string, { json, ...where }: Options): Promise<void> {
  const { client } = signedInClient(where)
  const removed = await helped(client, () => client.request('DELETE', at('/api/tunnels/:id', ref)))
  print(json, removed, `Deleted ${ref}. Its machine was disconnected.`)
}
