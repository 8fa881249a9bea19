import { createHmac } from 'node:crypto'
import { contextOf, write } from '../../action.ts'
import { type Actor, anonymous } from '../../auth/actor.ts'
import { CACHE_MS } from '../../auth/authenticate.ts'
import { issueSecret, redeemSecret } from '../../auth/one-time-secrets.ts'
import { person, refuse } from '../../auth/policy.ts'
import { deriveKey, sameText } from '../../auth/secrets.ts'
import { AppError } from '../../errors.ts'
import type { App } from '../../services.ts'
import { TUNNEL_COOKIE } from '../../tunnel/headers.ts'
import type { TunnelAddress } from '../../tunnel/tunnel-address.ts'
import { reachRefusal } from './access.ts'
import { find } from './rows.ts'

/** Where a browser brings its code, on the host of a service. */
export const ENTRY_PATH = '/.tutti/enter'
const HOURS = 12

/** Whether browsers reach this server with TLS. */
const isSecure = ({ config }: App): boolean => config.APP_URL?.startsWith('https:') ?? false
/** A code must not leave the browser unencrypted, whatever the link says that it came with. */
const secured = (app: App, address: string): string => (isSecure(app) ? address.replace(/^http:/, 'https:') : address)

interface Pass {
  sessionId: string
  host: string
  expiresAt: number
}

/**
 * Lets a browser that is signed in open a service: returns an address on the service's host with a code that works once
 * within a minute. The code never reaches the service behind it.
 */
export const enter = write(
  'tunnels.enter',
  person,
  async (ctx, { to }: { to: string }): Promise<{ location: string }> => {
    const url = URL.parse(to)
    const address = url && ctx.app.tunnels.tunnelAddressOf(new Request(url.href, { headers: { host: url.host } }))
    if (!url || address?.mode !== 'host') throw new AppError('invalid', 'This is not the address of a tunnel.')
    const tunnel = await find(ctx, address.slug)
    refuse(reachRefusal(ctx, tunnel))
    const code = await issueSecret(ctx, {
      purpose: 'tunnel_entry',
      minutes: 1,
      userId: ctx.actor.userId,
      data: { sessionId: ctx.actor.credentialId, host: address.host, target: address.target },
    })
    return { location: `${secured(ctx.app, url.origin)}${ENTRY_PATH}?code=${code}` }
  },
  { secret: ['location'] },
)

/** Cookies of browsers for the hosts of services. Each belongs to a login session, and ends with it. */
export class Entries {
  readonly #key: Buffer
  readonly #known = new Map<string, { actor: Promise<Actor | undefined>; at: number }>()
  readonly #isSecure: boolean

  constructor(private readonly app: App) {
    this.#key = deriveKey(app.secret, 'tunnel-cookie')
    this.#isSecure = isSecure(app)
    app.auth.watch(() => this.#known.clear())
  }

  signIn(to: string): string {
    return `${this.app.url}/tunnels/enter?to=${encodeURIComponent(secured(this.app, to))}`
  }

  /** Takes the code of `enter` and sets the cookie. Undefined if the code is not valid here. */
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
        // The target is a path of this host: two slashes would begin another one.
        location: target.replace(/^\/+/, '/'),
        'set-cookie': `${this.#cookie}=${value}; Path=/; Max-Age=${HOURS * 3600}; HttpOnly; SameSite=Lax${secure}`,
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
      },
    })
  }

  /**
   * Returns whose login session a browser's cookie belongs to. Pages of other tunnels are of the same site, so
   * `SameSite` does not keep them from sending requests with it: what they send does not count.
   */
  async callerOf(request: Request, address: TunnelAddress): Promise<Actor | undefined> {
    const pass = isOwn(request, address) ? this.#open(cookieIn(request, this.#cookie)) : undefined
    if (!pass || pass.host !== address.host || pass.expiresAt <= this.app.clock().getTime()) return undefined
    const found = this.#known.get(pass.sessionId)
    if (found && performance.now() - found.at < CACHE_MS) return found.actor
    const actor = this.app.auth
      .again({ kind: 'session', credentialId: pass.sessionId })
      .then((renewed) => ('actor' in renewed ? renewed.actor : undefined))
    if (this.#known.size > 10_000) this.#known.clear()
    this.#known.set(pass.sessionId, { actor, at: performance.now() })
    return actor
  }

  get #cookie(): string {
    return this.#isSecure ? `__Host-${TUNNEL_COOKIE}` : TUNNEL_COOKIE
  }

  #seal(pass: Pass): string {
    const body = Buffer.from(JSON.stringify(pass)).toString('base64url')
    return `${body}.${this.#sign(body)}`
  }

  #open(value: string | undefined): Pass | undefined {
    const [body = '', signature = ''] = value?.split('.') ?? []
    if (body === '' || !sameText(signature, this.#sign(body))) return undefined
    return JSON.parse(Buffer.from(body, 'base64url').toString()) as Pass
  }

  #sign(body: string): string {
    return createHmac('sha256', this.#key).update(body).digest('base64url')
  }
}

/** Whether a page of this very host sent the request, or a person opened its address. */
function isOwn({ method, headers }: Request, { host }: TunnelAddress): boolean {
  const origin = headers.get('origin')
  if (origin !== null && origin !== `http://${host}` && origin !== `https://${host}`) return false
  const site = headers.get('sec-fetch-site')
  if (site === null || site === 'same-origin' || site === 'none') return true
  return (
    method === 'GET' && headers.get('sec-fetch-mode') === 'navigate' && headers.get('sec-fetch-dest') === 'document'
  )
}

/** Undefined if there are two of this name: nothing tells which is ours. */
function cookieIn({ headers }: Request, name: string): string | undefined {
  const values = (headers.get('cookie') ?? '')
    .split(';')
    .map((part) => part.trim())
    .filter((part) => part.startsWith(`${name}=`))
  return values.length === 1 ? values[0]?.slice(name.length + 1) : undefined
}
