import type { Server } from 'bun'
import { loopback } from '../address.ts'
import { clientAddress } from '../auth/client-address.ts'
import { Buckets, tooManyError } from '../auth/limits.ts'
import type { Config } from '../config.ts'
import { newId } from '../db/columns.ts'
import { AppError } from '../errors.ts'
import type { SocketData } from '../live/socket.ts'
import { withoutSecrets } from '../text/secrets.ts'
import { Uploads } from './uploads.ts'

export const ACCESS_COOKIE = 'tutti_access'
export const REFRESH_COOKIE = 'tutti_refresh'

export interface RequestFacts {
  readonly requestId: string
  /** A getter: a plain read with a known credential is faster without it. */
  readonly ip: string | null
}

type Listening = Pick<Server<unknown>, 'requestIP' | 'timeout'>
/** Turns a request into a WebSocket; returns false if it did not ask for that. */
export type Upgrade = (request: Request, data: SocketData) => boolean

const literal = /^(\d{1,3}(\.\d{1,3}){3}|\[[0-9a-f:.]+\])$/i
/** A server has few names, but a caller can spell them in many ways. */
const MOST_HOSTS = 100
const unsafe = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])

/**
 * The checks every request passes before routing: host, origin, identity of the caller's network, request id, limits.
 */
export class Guard {
  readonly perCredential: Buckets
  readonly perNetwork: Buckets
  readonly perToken: Buckets
  readonly perReader: Buckets
  readonly uploads = new Uploads()
  /** Paths that pages of every origin may call: nothing there depends on a cookie. */
  readonly open = new Set<string>()
  readonly #factsOf = new WeakMap<Request, RequestFacts>()
  readonly #hosts: Set<string>
  readonly #passed = new Set<string>()
  readonly #public: boolean
  #server: Listening | undefined

  constructor(private readonly config: Config) {
    this.perCredential = new Buckets(config.RATE_LIMIT_PER_MINUTE, config.RATE_LIMIT_BURST)
    this.perNetwork = new Buckets(config.RATE_LIMIT_ANONYMOUS, config.RATE_LIMIT_ANONYMOUS)
    this.perToken = new Buckets(config.RATE_LIMIT_MCP, Math.min(config.RATE_LIMIT_MCP, 100))
    // Public pages come from memory: ten times as many as other requests without a credential.
    this.perReader = new Buckets(10 * config.RATE_LIMIT_ANONYMOUS, 10 * config.RATE_LIMIT_ANONYMOUS)
    this.#hosts = new Set([...loopback, ...config.ALLOWED_HOSTS.map((h) => h.toLowerCase())])
    for (const url of [config.APP_URL, config.INSTANCE_URL])
      if (url) this.#hosts.add(new URL(url).hostname.toLowerCase())
    this.#public = !loopback.has(config.HOST) && config.HOST !== '::1'
  }

  attach(server: Listening, upgrade?: Upgrade): void {
    this.#server = server
    if (upgrade) this.upgrade = upgrade
  }

  upgrade: Upgrade = () => false

  get server(): Listening | undefined {
    return this.#server
  }

  /** Throws if the request must not be processed further. */
  check(request: Request): RequestFacts {
    const seen = this.#note(request)
    const host = request.headers.get('host') ?? ''
    if (!isProbe(request.url)) this.#checkHost(host, request.url)
    const origin = request.headers.get('origin')
    if (origin !== null && !this.#ours(origin, host) && !this.open.has(URL.parse(request.url)?.pathname ?? ''))
      throw new AppError('forbidden.origin', 'Requests from this origin are not allowed.')
    return seen
  }

  /** Throws if the request names another host. Caches the spellings that passed. */
  #checkHost(host: string, url: string): void {
    // The host of a URL ends at the first slash at the latest.
    const asked = `${url.slice(0, url.indexOf('/', url.indexOf('//') + 2))} ${host}`
    if (this.#passed.has(asked)) return
    // Bun joins two Host headers with a comma, and lets an absolute target differ from Host. The host must be
    // unambiguous. An invalid Host yields a URL without one.
    if (host.includes(',') || URL.parse(url)?.host !== host.toLowerCase().replace(/:80$/, ''))
      throw new AppError('invalid.malformed', 'The request names more than one host, or none.')
    if (!this.#allows(host))
      throw new AppError(
        'forbidden.origin',
        `This server does not serve the host ${JSON.stringify(host)}. To allow it, set APP_URL or ALLOWED_HOSTS.`,
      )
    if (this.#passed.size < MOST_HOSTS) this.#passed.add(asked)
  }

  #note(request: Request): RequestFacts {
    const given = request.headers.get('x-request-id')
    // The id is logged, stored and sent back.
    const usable = given !== null && /^[\w.-]{8,100}$/.test(given) && withoutSecrets(given) === given
    const address = () => this.#addressOf(request)
    let ip: string | null | undefined
    const seen: RequestFacts = {
      requestId: usable ? given : newId(),
      get ip() {
        ip ??= address()
        return ip
      },
    }
    this.#factsOf.set(request, seen)
    return seen
  }

  /** Stores the client's address of a request that another instance handed over. */
  setClientAddress(request: Request, ip: string | null): void {
    this.#factsOf.set(request, { requestId: this.seen(request).requestId, ip })
  }

  seen(request: Request): RequestFacts {
    return this.#factsOf.get(request) ?? this.#note(request)
  }

  /**
   * Returns the bearer secret or the browser's cookie. A cookie on an unsafe method has passed the Origin check above,
   * or must be same-site.
   */
  credential(request: Request): string | undefined {
    const header = request.headers.get('authorization')
    if (header !== null) {
      const token = /^Bearer +([\x21-\x7e]{1,4096})$/i.exec(header)?.[1]
      if (!token) throw new AppError('unauthenticated', 'The Authorization header must be `Bearer <token>`.')
      return token
    }
    const cookie = cookieOf(request, this.config, ACCESS_COOKIE)
    if (
      cookie &&
      unsafe.has(request.method) &&
      request.headers.get('origin') === null &&
      request.headers.get('sec-fetch-site') !== 'same-origin'
    )
      return undefined
    return cookie
  }

  limitError(buckets: Buckets, wait: number): AppError {
    const error = tooManyError(wait)
    return new AppError('rate_limited', error.message, { retryAfter: wait, limit: buckets.limit })
  }

  #allows(host: string): boolean {
    const name = host.toLowerCase().replace(/:\d+$/, '')
    // A bare address cannot be rebound by DNS, so it is safe if the operator exposed the server.
    return this.#hosts.has(name) || (this.#public && literal.test(name))
  }

  #ours(origin: string, host: string): boolean {
    const { APP_URL } = this.config
    // On the host of APP_URL the scheme must match too: an attacker on plain HTTP must not act for the page behind
    // HTTPS.
    if (origin === APP_URL || (APP_URL && new URL(APP_URL).host === host.toLowerCase())) return origin === APP_URL
    return origin === `http://${host}` || origin === `https://${host}`
  }

  #addressOf(request: Request): string | null {
    const direct = this.#server?.requestIP(request)?.address ?? null
    return clientAddress(request.headers, direct, this.config.TRUSTED_PROXIES)
  }
}

/**
 * Whether a request asks for the health of this server. Load balancers ask by HTTP/1.0 without a Host, or with the
 * address of the instance as Host. Nothing there depends on who asks.
 */
const isProbe = (url: string): boolean =>
  // Most addresses are not parsed.
  url.includes('/health') && /^(?:https?:\/\/[^/?#]*)?\/health(?:\/live|\/ready)?(?:\?|$)/.test(url)

/** Returns a probe without Host with an address that a router can read. Any other request stays as it is. */
export const withHost = (request: Request): Request =>
  request.url.startsWith('/') && isProbe(request.url) ? new Request(`http://localhost${request.url}`, request) : request

/** Decided by APP_URL, not by what a request claims. */
export const isSecure = (config: Config): boolean => config.APP_URL?.startsWith('https:') ?? false

/** On HTTPS only the `__Host-` name counts, which no other host of the domain can set. */
export const cookieName = (config: Config, name: string): string => (isSecure(config) ? `__Host-${name}` : name)

/**
 * Returns the value of a cookie; undefined if there are two of this name. Over plain HTTP another host of the domain
 * can set one beside ours, to sign a user in as someone else, and nothing tells which is ours.
 */
export function cookieOf(request: Request, config: Config, name: string): string | undefined {
  const wanted = cookieName(config, name)
  const values: string[] = []
  for (const part of request.headers.get('cookie')?.split(';') ?? []) {
    const at = part.indexOf('=')
    if (part.slice(0, at).trim() === wanted) values.push(part.slice(at + 1).trim())
  }
  return values.length === 1 ? values[0] : undefined
}
