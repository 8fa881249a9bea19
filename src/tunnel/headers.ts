import type { TunnelUser } from './frames.ts'
import type { TunnelAddress } from './tunnel-address.ts'

type Pairs = [string, string][]

/** Names that a request to a service may have: CONNECT and TRACE are for proxies. The machine checks this too. */
export const methods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

/** Headers of one hop, which no proxy passes on. */
export const ofOneHop: ReadonlySet<string> = new Set([
  'connection',
  'expect',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])
/** Headers that would act on the whole origin, which tunnels share by path. */
const ofOrigin = new Set([
  'set-cookie',
  'clear-site-data',
  'service-worker-allowed',
  'strict-transport-security',
  'alt-svc',
  'nel',
  'report-to',
])
/** Cookies of this server: the service must not see them. */
const ourCookies = /^(?:__Host-)?tutti_(?:access|refresh|here|tunnel|device)$/i

/** The name of the cookie of a browser that may reach a tunnel. */
export const TUNNEL_COOKIE = 'tutti_tunnel'

/** Returns the headers that the service gets: without ours, with who is asking and from where. */
export function toService(
  request: Request,
  address: TunnelAddress,
  user: TunnelUser | null,
  client: string | null,
): Pairs {
  const named = new Set((request.headers.get('connection') ?? '').toLowerCase().split(/[\s,]+/))
  const pairs: Pairs = []
  request.headers.forEach((value, name) => {
    if (ofOneHop.has(name) || named.has(name) || name.startsWith('tutti-') || name.startsWith('sec-websocket-')) return
    if (/^x-forwarded-|^forwarded$/.test(name)) return
    if (name !== 'cookie') pairs.push([name, value])
    else if (foreignCookies(value) !== '') pairs.push([name, foreignCookies(value)])
  })
  const protocols = request.headers.get('sec-websocket-protocol')
  if (protocols !== null) pairs.push(['sec-websocket-protocol', protocols])
  if (client !== null) pairs.push(['x-forwarded-for', client])
  pairs.push(['x-forwarded-host', address.host])
  if (user) pairs.push(['tutti-user', user.id], ['tutti-email', user.email])
  return pairs
}

const foreignCookies = (header: string): string =>
  header
    .split(';')
    .map((part) => part.trim())
    .filter((part) => part !== '' && !ourCookies.test(part.split('=')[0] as string))
    .join('; ')

/**
 * Returns the headers that the client gets. By path, tunnels share an origin: a sandbox keeps their pages apart from
 * each other, and nothing is stored for the origin.
 */
export function toClient(pairs: readonly [string, string][], mode: TunnelAddress['mode']): Headers {
  const headers = new Headers()
  for (const [given, value] of pairs) {
    const name = given.toLowerCase()
    // A machine that says another length than it sends must not reach the next response on the connection.
    if (ofOneHop.has(name) || name === 'content-length') continue
    if (name.startsWith('tutti-') || (mode === 'path' && ofOrigin.has(name))) continue
    try {
      headers.append(name, name === 'set-cookie' ? withoutDomain(value) : value)
    } catch {
      // Not a header that HTTP allows.
    }
  }
  if (mode === 'path')
    headers.append('content-security-policy', 'sandbox allow-scripts allow-forms allow-popups allow-modals')
  return headers
}

/** A cookie for the whole domain would reach the services of other machines. */
const withoutDomain = (cookie: string): string =>
  cookie
    .split(';')
    .filter((part, i) => i === 0 || !/^\s*domain\s*(=|$)/i.test(part))
    .join(';')
