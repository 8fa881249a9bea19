import type { TunnelUser } from './frames.ts'
import type { TunnelAddress } from './tunnel-address.ts'

type Pairs = [string, string][]

/** Methods of requests to a service. CONNECT and TRACE are for proxies. The machine checks this too. */
export const tunnelMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

/** Hop-by-hop headers, which no proxy passes on. */
export const hopByHopHeaders: ReadonlySet<string> = new Set([
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
/** Headers that affect the whole origin, which tunnels share by path. */
const ofOrigin = new Set([
  'set-cookie',
  'clear-site-data',
  'service-worker-allowed',
  'strict-transport-security',
  'alt-svc',
  'nel',
  'report-to',
])
/** This server's cookies. A service must neither see nor set them. */
const ourCookie = /^[\s=]*(?:__(?:Host|Secure)-)?tutti_/i

/** Returns whether a cookie, written `name=value`, belongs to this server. */
const isOurCookie = (cookie: string): boolean => ourCookie.test(cookie)

/** The cookie of a browser that has access to a tunnel. */
export const TUNNEL_COOKIE = 'tutti_tunnel'

/** Returns the headers for the service: without this server's own, with the user and the client's address. */
export function serviceHeaders(
  request: Request,
  address: TunnelAddress,
  user: TunnelUser | null,
  client: string | null,
): Pairs {
  const named = new Set((request.headers.get('connection') ?? '').toLowerCase().split(/[\s,]+/))
  const pairs: Pairs = []
  request.headers.forEach((value, name) => {
    if (named.has(name) || isReserved(name)) return
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

/** Headers that the tunnel sets itself or removes. */
const reserved = /^(?:tutti-|sec-websocket-|x-forwarded-|forwarded$)/
/** Headers that decide where a request ends or which host it is for. Only their usual spelling may pass. */
const framingHeaders = new Set(['host', 'content-length', 'content-type', 'cookie'])

/**
 * Returns whether a header of the client must not reach the service. CGI and WSGI read `X_Forwarded_For` and
 * `X-Forwarded-For` as the same variable, and some gateways treat other characters alike, so all of them count as `-`.
 */
function isReserved(name: string): boolean {
  if (!/[^a-z0-9-]/.test(name)) return hopByHopHeaders.has(name) || reserved.test(name)
  const dashed = name.replace(/[^a-z0-9-]/g, '-')
  return hopByHopHeaders.has(dashed) || reserved.test(dashed) || framingHeaders.has(dashed)
}

/** Returns a Cookie header without the cookies of this server. */
export const foreignCookies = (header: string): string =>
  header
    .split(';')
    .map((part) => part.trim())
    .filter((part) => part !== '' && !isOurCookie(part))
    .join('; ')

/**
 * Returns the headers for the client. By path, tunnels share an origin: a sandbox separates their pages, and nothing is
 * stored for the origin.
 */
export function clientHeaders(pairs: readonly [string, string][], mode: TunnelAddress['mode']): Headers {
  const headers = new Headers()
  for (const [given, value] of pairs) {
    const name = given.toLowerCase()
    // A wrong length must not affect the next response on the connection.
    if (hopByHopHeaders.has(name) || name === 'content-length') continue
    if (name.startsWith('tutti-') || (mode === 'path' && ofOrigin.has(name))) continue
    if (name === 'set-cookie' && isOurCookie(value)) continue
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

/**
 * Lets pages send their own address to their own host. On plain HTTP, only the referrer distinguishes requests of the
 * host's pages from those of other tunnels, which do not count as signed in.
 */
export function allowOwnReferrer(headers: Headers): void {
  const policy = headers.get('referrer-policy')
  if (policy !== null) headers.set('referrer-policy', policy.replace(/\bno-referrer\b(?!-)/gi, 'same-origin'))
}

/** A cookie for the whole domain would reach the services of other machines. */
const withoutDomain = (cookie: string): string =>
  cookie
    .split(';')
    .filter((part, i) => i === 0 || !/^\s*domain\s*(=|$)/i.test(part))
    .join(';')
