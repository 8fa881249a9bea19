import { createHash } from 'node:crypto'
import { type Actor, anonymous } from '../../../auth/actor.ts'
import { clientAddress } from '../../../auth/client-address.ts'
import { isWithinLimit } from '../../../auth/limit.ts'
import { Buckets, networkOf } from '../../../auth/limits.ts'
import { scopeHolds, throwIfRefused } from '../../../auth/policy.ts'
import { AppError } from '../../../errors.ts'
import type { App } from '../../../services.ts'
import type { TunnelFacts } from '../../../tunnel/connected-tunnels.ts'
import type { AdmittedRequest, RefusalWriter } from '../../../tunnel/forward.ts'
import type { MachineOffer } from '../../../tunnel/frames.ts'
import type { RequestGate } from '../../../tunnel/listener.ts'
import type { TunnelAddress } from '../../../tunnel/tunnel-address.ts'
import { reachRefusal } from '../access.ts'
import { dialerFor, type FoundMachine } from '../dialers.ts'
import { findTunnelBySlug, userOf } from '../rows.ts'
import { ENTRY_PATH, ServiceCookies } from './entries.ts'
import { OpenStreams } from './open-streams.ts'

const titles: Record<number, string> = { 401: 'Authentication required', 403: 'Not allowed', 404: 'Not found' }

/** Headers of our own pages on the listener: they must not gain rights on the service's origin. */
const sealedHeaders = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; sandbox allow-top-navigation-by-user-activation",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
}

/** A problem document (RFC 9457). */
const problemResponse: RefusalWriter = (status, detail) =>
  new Response(JSON.stringify({ type: 'about:blank', title: titles[status] ?? 'Tunnel', status, detail }), {
    status,
    headers: {
      ...sealedHeaders,
      'content-type': 'application/problem+json',
      ...(status === 401 && { 'www-authenticate': 'Bearer realm="tutti"' }),
    },
  })

const style =
  'body{font:16px/1.6 system-ui,sans-serif;max-width:42rem;margin:12vh auto;padding:0 1.5rem}h1{font-size:1.5rem}' +
  'pre{padding:.75rem 1rem;border:1px solid #8886;border-radius:8px;overflow:auto}'
const styleHash = createHash('sha256').update(style).digest('base64')

/**
 * The page for a browser that opens a private service by its path. It cannot sign in there: all tunnels share the
 * address, so there is no cookie. The page repeats the names of the address, and reveals nothing about what exists.
 */
function otherWayPage({ slug, service, host }: TunnelAddress): Response {
  const port = host.split(':')[1]
  const local = `http://${service}--${slug}.localhost${port ? `:${port}` : ''}/`
  const body = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Open it another way</title>
<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">
<style>${style}</style>
<h1>This address is for programs</h1>
<p>A browser cannot sign in here, because all tunnels share this address. To open the service, run:</p>
<pre>tutti tunnel open ${slug}/${service}</pre>
<p>On the computer where the server runs, you can also open <a href="${local}" rel="noreferrer">${local}</a></p>
<p>Programs send <code>Tutti-Authorization: Bearer &lt;token&gt;</code>.</p></html>`
  return new Response(body, {
    status: 401,
    headers: {
      ...sealedHeaders,
      'content-security-policy': `${sealedHeaders['content-security-policy']}; style-src 'sha256-${styleHash}'`,
      'content-type': 'text/html; charset=utf-8',
    },
  })
}

/** Decides who sends each request to a service, and whether they have access. */
export function createGate(app: App): RequestGate {
  const perTunnel = new Buckets(app.config.TUNNEL_RATE * 60, app.config.TUNNEL_RATE * 2)
  const guesses = new Buckets(app.config.RATE_LIMIT_ANONYMOUS, app.config.RATE_LIMIT_ANONYMOUS)
  const entries = new ServiceCookies(app)
  const streams = OpenStreams.of(app)

  async function admit(
    request: Request,
    address: TunnelAddress,
    client: string | null,
  ): Promise<AdmittedRequest | Response> {
    if (address.mode === 'host' && address.target.startsWith(`${ENTRY_PATH}?`)) return enter(request, address, client)
    try {
      return await pass(request, address)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      // A wrong credential counts against its network; otherwise guessing would be free.
      const wait = error.code === 'unauthenticated' ? guesses.take(networkOf(client)) : 0
      if (wait > 0) return problemResponse(429, `Too many attempts. Try again in ${wait} seconds.`)
      if (error.code === 'unauthenticated' && address.mode === 'host' && isNavigation(request))
        return Response.redirect(entries.signIn(request.url), 302)
      if (error.code === 'unauthenticated' && isNavigation(request)) return otherWayPage(address)
      return problemResponse(error.status, error.message)
    }
  }

  /** Every attempt counts, because each one reads the database. */
  async function enter(request: Request, address: TunnelAddress, client: string | null): Promise<Response> {
    const wait = guesses.take(networkOf(client))
    if (wait > 0) return problemResponse(429, `Too many attempts. Try again in ${wait} seconds.`)
    return (await entries.enter(request, address)) ?? problemResponse(401, 'This link was already used or has expired.')
  }

  async function pass(request: Request, address: TunnelAddress): Promise<AdmittedRequest> {
    const since = streams.changes
    const actor = await callerOf(request, address)
    const { tunnel, dialer, offer } = await tunnelAt(app, actor, address.slug)
    const wait = perTunnel.take(tunnel.id)
    if (wait > 0) throw new AppError('rate_limited', 'Too many requests through this tunnel.', { retryAfter: wait })
    return {
      dialer,
      service: serviceOf(offer, address),
      user: await userOf(app, actor, tunnel),
      onOpened: (stream) => streams.add(stream, { actor, tunnelId: tunnel.id }, since),
    }
  }

  /** Programs send `Tutti-Authorization`; browsers send the cookie of the tunnel's host. */
  async function callerOf(request: Request, address: TunnelAddress): Promise<Actor> {
    const header = request.headers.get('tutti-authorization')
    if (header === null) return (address.mode === 'host' && (await entries.callerOf(request, address))) || anonymous
    return authenticateBearer(app, header)
  }

  const clientOf = ({ headers }: Request, direct: string | null) =>
    clientAddress(headers, direct, app.config.TRUSTED_PROXIES)

  return { admit, clientOf, refuse: problemResponse }
}

/** Returns the sender of a `Tutti-Authorization` header. */
async function authenticateBearer(app: App, header: string): Promise<Actor> {
  const token = /^Bearer +([\x21-\x7e]{1,4096})$/i.exec(header)?.[1]
  if (!token) throw unauthenticated()
  const actor = app.auth.cachedActor(token) ?? (await app.auth.authenticate(token))
  if (actor.session?.impersonatorId)
    throw new AppError('forbidden', 'You cannot reach machines while you act as another user.')
  if (actor.kind === 'tunnel') throw new AppError('forbidden', 'The credential of a machine cannot open services.')
  if (!scopeHolds(actor.scopes, 'tunnels:write'))
    throw new AppError('forbidden', 'This credential lacks the scope tunnels:write.', { scope: 'tunnels:write' })
  return actor
}

/** Returns the tunnel and the dialer of its machine, if the caller may reach it. */
async function tunnelAt(app: App, actor: Actor, slug: string): Promise<FoundMachine & { tunnel: TunnelFacts }> {
  const connection = app.tunnels.bySlug(slug)
  const { TUNNEL_PUBLIC, INSTANCE_URL } = app.config
  // Strangers must not learn whether a tunnel exists, and cost no query if no tunnel can be public.
  const mayBePublic =
    TUNNEL_PUBLIC === 'on' && (connection ? connection.facts.access === 'public' : INSTANCE_URL !== undefined)
  if (actor.kind === 'anonymous' && !mayBePublic) throw unauthenticated()
  const tunnel = connection?.facts ?? (await findTunnelBySlug(app, slug))
  const isPublic = mayBePublic && tunnel?.access === 'public'
  if (actor.kind === 'anonymous' && !isPublic) throw unauthenticated()
  // A tunnel belongs to no project.
  const isMember = tunnel && isWithinLimit(actor, null) && actor.memberships.has(tunnel.organizationId)
  if (!tunnel || (!isPublic && !isMember)) throw new AppError('not_found', 'There is no tunnel at this address.')
  throwIfRefused(reachRefusal({ app, actor }, tunnel))
  const found = connection ? { dialer: connection, offer: connection.offer } : await dialerFor(app, tunnel.id)
  if (!found) throw new AppError('upstream_failed', 'The machine of this tunnel is not connected.')
  return { tunnel, ...found }
}

const unauthenticated = () =>
  new AppError('unauthenticated', 'Send a valid credential: `Tutti-Authorization: Bearer <token>`.')

const isNavigation = ({ method, headers }: Request): boolean =>
  method === 'GET' &&
  (headers.get('sec-fetch-mode') === 'navigate' || headers.get('sec-fetch-mode') === null) &&
  (headers.get('accept') ?? '').includes('text/html')

/** Without a name, returns the machine's only service. */
function serviceOf({ services }: MachineOffer, { service }: TunnelAddress): string {
  const wanted = service === undefined && services.length === 1 ? services[0]?.name : service
  if (wanted === undefined || !services.some(({ name }) => name === wanted))
    throw new AppError('not_found', 'The machine offers no such service.')
  return wanted
}
