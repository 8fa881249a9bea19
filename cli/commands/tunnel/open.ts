import type { Server } from 'bun'
import type { Tunnel } from '../../../src/features/tunnels/schema.ts'
import { foreignCookies } from '../../../src/tunnel/headers.ts'
import type { Client } from '../../api/client.ts'
import { stopSignal } from '../../api/events.ts'
import { withHints } from '../../api/hints.ts'
import { isLocal, type ServerChoice, signedInClient } from '../../api/profiles.ts'
import { pathTo } from '../../api/reference.ts'
import { jsonText, printNote } from '../../terminal/output.ts'
import { Refusal } from '../../terminal/refusal.ts'
import { splitPlace } from './actions.ts'
import { connectUpstream, type JoinedSocket, socketHandlers } from './socket.ts'
import { describeOffline } from './tunnels.ts'

interface Options extends ServerChoice {
  json?: boolean
  port?: string
}

/** The address of the service, and the Host header to send: `*.localhost` needs no DNS. */
interface Target {
  base: string
  host: string
}

/**
 * Returns a local host name for this service alone. Cookies ignore ports, so on 127.0.0.1 a browser would send the
 * cookies of every local program to the machine, and the machine could set theirs.
 */
const ownHost = ({ host }: Target): string => `${host.split('.')[0]}.localhost`

/** Response headers that would affect every program on 127.0.0.1. */
const hostWideHeaders = ['set-cookie', 'clear-site-data', 'strict-transport-security']

/** Opens a service on a port of this computer, with the login of the user. */
export async function openService(place: string, { json, port, ...where }: Options): Promise<void> {
  const [ref, name] = splitPlace(place, 'service')
  const { client } = signedInClient(where)
  const tunnel = await withHints(client, () => client.get<Tunnel>(pathTo('/api/tunnels/:id', ref)))
  const problem = describeOffline(tunnel)
  if (problem) throw new Refusal(problem, 6)
  const target = targetOf(tunnel, name, client.server)
  const wanted = port === undefined ? 0 : Number(port)
  if (!Number.isInteger(wanted) || wanted < 0 || wanted > 65_535) throw new Refusal(`${port} is not a port.`)
  const stop = stopSignal()
  const server = serveLocally(client, target, wanted)
  const url = `http://127.0.0.1:${server.port}`
  const browserUrl = `http://${ownHost(target)}:${server.port}`
  if (json) console.log(jsonText({ url, browserUrl, tunnel: tunnel.slug, service: name }))
  else {
    printNote(`${tunnel.slug}/${name} is open on this computer with your login. Press Ctrl-C to stop.`)
    printNote(`  Browser:  ${browserUrl}`)
    printNote(`  Programs: ${url}`)
  }
  await new Promise((resolve) => stop.addEventListener('abort', resolve, { once: true }))
  await server.stop(true)
}

function targetOf({ services, slug }: Tunnel, name: string, server: string): Target {
  const service = services.find((each) => each.name === name)
  const names = services.map((each) => each.name).join(', ')
  if (!service) throw new Refusal(`${slug} offers no service ${name}.${names ? ` Its services: ${names}.` : ''}`, 4)
  if (service.url === null) throw new Refusal('Services cannot be opened: TUNNEL_PORT is not set on the server.', 6)
  const url = new URL(service.url)
  if (!url.hostname.endsWith('.localhost')) return { base: url.origin, host: url.host }
  const { hostname } = new URL(server)
  return { base: `http://${hostname}:${url.port}`, host: url.host }
}

/** Listens on a port of this computer and passes requests on to the service. */
export function serveLocally(client: Pick<Client, 'token'>, target: Target, port: number) {
  const server: Server<JoinedSocket> = Bun.serve<JoinedSocket>({
    hostname: '127.0.0.1',
    port,
    idleTimeout: 0,
    development: false,
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    async fetch(request) {
      if (!isSameSite(request, target)) return new Response('Open this address yourself.\n', { status: 403 })
      const url = new URL(request.url)
      const path = url.pathname + url.search
      if (request.headers.get('upgrade')?.toLowerCase() !== 'websocket')
        return forwardRequest(client, target, request, path)
      const data = await connectSocket(client, target, request, path)
      if (!data) return new Response('The service did not accept a WebSocket.\n', { status: 502 })
      const { protocol } = data.upstream
      const headers = protocol ? { 'sec-websocket-protocol': protocol } : undefined
      if (server.upgrade(request, { data, headers })) return undefined
      data.upstream.close()
      return new Response('This is not a WebSocket handshake.\n', { status: 400 })
    },
    error: () => new Response('The tunnel cannot be reached.\n', { status: 502 }),
    websocket: socketHandlers,
  })
  return server
}

/** Only programs and pages of this address may use the login: no page of another site in the same browser. */
function isSameSite({ headers, url }: Request, target: Target): boolean {
  const { hostname, origin, host } = new URL(url)
  if ((!isLocal(hostname) && hostname !== ownHost(target)) || headers.get('host') !== host) return false
  const from = headers.get('origin')
  if (from !== null && from !== origin) return false
  const site = headers.get('sec-fetch-site')
  return site === null || site === 'same-origin' || site === 'none'
}

/** Whether the cookies of a request belong to the service: on 127.0.0.1 they may belong to any program. */
const hasOwnCookies = ({ headers, url }: Request, target: Target): boolean =>
  headers.get('sec-fetch-site') === null || new URL(url).hostname === ownHost(target)

async function forwardRequest(client: Pick<Client, 'token'>, target: Target, request: Request, path: string) {
  const { base, host } = target
  const isShared = !hasOwnCookies(request, target)
  const headers = new Headers(request.headers)
  headers.set('host', host)
  headers.set('tutti-authorization', `Bearer ${await client.token()}`)
  for (const name of ['connection', 'keep-alive', 'transfer-encoding']) headers.delete(name)
  const cookies = isShared ? '' : foreignCookies(headers.get('cookie') ?? '')
  if (cookies) headers.set('cookie', cookies)
  else headers.delete('cookie')
  const response = await fetch(base + path, {
    method: request.method,
    headers,
    body: request.body,
    redirect: 'manual',
    decompress: false,
    signal: request.signal,
  })
  const answered = new Headers(response.headers)
  if (isShared) for (const name of hostWideHeaders) answered.delete(name)
  return new Response(response.body, { status: response.status, headers: answered })
}

async function connectSocket(
  client: Pick<Client, 'token'>,
  { base, host }: Target,
  { headers }: Request,
  path: string,
) {
  const protocols = (headers.get('sec-websocket-protocol') ?? '').split(',').map((each) => each.trim())
  return connectUpstream({
    url: base.replace(/^http/, 'ws') + path,
    headers: { host, 'tutti-authorization': `Bearer ${await client.token()}` },
    protocols: protocols.filter(Boolean),
  })
}
