import { createHmac } from 'node:crypto'
import { contextOf, write } from '../../../action.ts'
import { type Actor, anonymous } from '../../../auth/actor.ts'
import { CACHE_MS } from '../../../auth/authenticate.ts'
import { issueSecret, redeemSecret } from '../../../auth/one-time-secrets.ts'
import { person, throwIfRefused } from '../../../auth/policy.ts'
import { deriveKey, isSameSecret } from '../../../auth/secrets.ts'
import { AppError } from '../../../errors.ts'
import type { App } from '../../../services.ts'
import { TUNNEL_COOKIE } from '../../../tunnel/headers.ts'
import type { TunnelAddress } from '../../../tunnel/tunnel-address.ts'
import { reachRefusal } from '../access.ts'
import { findTunnel } from '../rows.ts'

/** The path on a service's host where a browser exchanges its code for a cookie. */
export const ENTRY_PATH = '/.tutti/enter'
const HOURS = 12

/** Whether browsers reach this server with TLS. */
const isSecure = ({ config }: App): boolean => config.APP_URL?.startsWith('https:') ?? false

/** Returns the address with https if browsers use https: behind a proxy, the listener itself receives http. */
function publicUrl({ tunnels }: App, address: string): URL | null {
  const url = URL.parse(address)
  if (url?.protocol !== 'http:' || !tunnels.originOf(url.hostname)?.startsWith('https:')) return url
  return URL.parse(address.replace(/^http:/i, 'https:'))
}

/** Returns an address of a tunnel's host. Codes go only to the listener, so scheme and port have to match too. */
function publicAddress({ tunnels }: App, url: URL | null): TunnelAddress {
  const isWeb = url?.protocol === 'http:' || url?.protocol === 'https:'
  const asked = isWeb && new Request(`http://${url.host}${url.pathname}${url.search}`, { headers: { host: url.host } })
  const found = asked && tunnels.tunnelAddressOf(asked)
  if (!isWeb || !found || found === 'ambiguous' || found.mode !== 'host')
    throw new AppError('invalid', 'This is not the address of a tunnel.')
  const origin = tunnels.originOf(url.hostname)
  if (url.origin !== origin)
    throw new AppError(
      'invalid',
      `Services of tunnels are opened at ${origin}. If a proxy serves them at another port, set TUNNEL_PROXY_PORT.`,
    )
  return found
}

interface CookiePass {
  sessionId: string
  host: string
  expiresAt: number
}

/**
 * Lets a signed-in browser open a service: returns an address on the service's host with a code that works once, within
 * a minute. The code never reaches the service.
 */
export const enterService = write(
  'tunnels.enter',
  person,
  async (ctx, { to }: { to: string }): Promise<{ location: string }> => {
    const url = publicUrl(ctx.app, to)
    const address = publicAddress(ctx.app, url)
    const tunnel = await findTunnel(ctx, address.slug)
    throwIfRefused(reachRefusal(ctx, tunnel))
    const code = await issueSecret(ctx, {
      purpose: 'tunnel_entry',
      minutes: 1,
      userId: ctx.actor.userId,
      data: { sessionId: ctx.actor.credentialId, host: address.host, target: address.target },
    })
    return { location: `${url?.origin}${ENTRY_PATH}?code=${code}` }
  },
  { secret: ['location'] },
)

/** Cookies of browsers for the hosts of services. Each belongs to a login session, and ends with it. */
export class ServiceCookies {
  readonly #key: Buffer
  readonly #known = new Map<string, { actor: Promise<Actor | undefined>; at: number }>()
  readonly #isSecure: boolean

  constructor(private readonly app: App) {
    this.#key = deriveKey(app.secret, 'tunnel-cookie')
    this.#isSecure = isSecure(app)
    app.auth.watch(() => this.#known.clear())
  }

  signIn(to: string): string {
    return `${this.app.url}/tunnels/enter?to=${encodeURIComponent(publicUrl(this.app, to)?.href ?? to)}`
  }

  /** Exchanges a code for the cookie. Undefined if the code is invalid for this host. */
  async enter(request: Request, address: TunnelAddress): Promise<Response | undefined> {
    const code = URL.parse(request.url)?.searchParams.get('code') ?? ''
    const found = await redeemSecret(contextOf(this.app, anonymous), 'tunnel_entry', code)
    const { sessionId, host, target } = (found?.data ?? {}) as { sessionId?: string; host?: string; target?: string }
    if (!sessionId || host !== address.host || !target?.startsWith('/')) return undefined
    const expiresAt = this.app.clock().getTime() + HOURS * 3_600_000
    const value = this.#seal({ sessionId, host, expiresAt })
    const secure = this.#isSecure ? '; Secure' : ''
    return new Response(null, {
      status: 303,
      headers: {
        // The target must be a path of this host: two slashes would begin another host.
        location: target.replace(/^\/+/, '/'),
        'set-cookie': `${this.#cookie}=${value}; Path=/; Max-Age=${HOURS * 3600}; HttpOnly; SameSite=Lax${secure}`,
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
      },
    })
  }

  /**
   * Returns the user of the login session that a cookie belongs to. Pages of other tunnels belong to the same site, so
   * `SameSite` does not stop them from sending the cookie: it counts only in requests of the host's own pages.
   */
  async callerOf(request: Request, address: TunnelAddress): Promise<Actor | undefined> {
    const pass = isOwn(request, address) ? this.#open(cookieIn(request, this.#cookie)) : undefined
    if (!pass || pass.host !== address.host || pass.expiresAt <= this.app.clock().getTime()) return undefined
    const found = this.#known.get(pass.sessionId)
    if (found && performance.now() - found.at < CACHE_MS) return found.actor
    const actor = this.app.auth
      .renew({ kind: 'session', credentialId: pass.sessionId })
      .then((renewed) => ('actor' in renewed ? renewed.actor : undefined))
    if (this.#known.size > 10_000) this.#known.clear()
    this.#known.set(pass.sessionId, { actor, at: performance.now() })
    return actor
  }

  get #cookie(): string {
    return this.#isSecure ? `__Host-${TUNNEL_COOKIE}` : TUNNEL_COOKIE
  }

  #seal(pass: CookiePass): string {
    const body = Buffer.from(JSON.stringify(pass)).toString('base64url')
    return `${body}.${this.#sign(body)}`
  }

  #open(value: string | undefined): CookiePass | undefined {
    const [body = '', signature = ''] = value?.split('.') ?? []
    if (body === '' || !isSameSecret(signature, this.#sign(body))) return undefined
    return JSON.parse(Buffer.from(body, 'base64url').toString()) as CookiePass
  }

  #sign(body: string): string {
    return createHmac('sha256', this.#key).update(body).digest('base64url')
  }
}

/**
 * Whether a page of this very host sent the request, or a person opened its address. Browsers send `Sec-Fetch-*` only
 * to https and to this computer. On plain HTTP they send `Upgrade-Insecure-Requests` with every navigation, and no page
 * can add it to other requests; all others need an `Origin` or `Referer` of this host.
 */
function isOwn({ method, headers }: Request, { host }: TunnelAddress): boolean {
  const isHost = (origin: string | undefined) => origin === `http://${host}` || origin === `https://${host}`
  const origin = headers.get('origin')
  if (origin !== null && !isHost(origin)) return false
  const site = headers.get('sec-fetch-site')
  if (site === 'same-origin' || site === 'none') return true
  if (site !== null)
    return (
      method === 'GET' && headers.get('sec-fetch-mode') === 'navigate' && headers.get('sec-fetch-dest') === 'document'
    )
  if (origin !== null || (method === 'GET' && headers.get('upgrade-insecure-requests') === '1')) return true
  return isHost(URL.parse(headers.get('referer') ?? '')?.origin)
}

/** Undefined if there are two cookies of this name, because either may be forged. */
function cookieIn({ headers }: Request, name: string): string | undefined {
  const values = (headers.get('cookie') ?? '')
    .split(';')
    .map((part) => part.trim())
    .filter((part) => part.startsWith(`${name}=`))
  return values.length === 1 ? values[0]?.slice(name.length + 1) : undefined
}
