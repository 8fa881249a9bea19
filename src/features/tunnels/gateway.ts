import { contextOf } from '../../action.ts'
import { type Actor, anonymous } from '../../auth/actor.ts'
import { Buckets, networkOf } from '../../auth/limits.ts'
import { refuse, scopeHolds } from '../../auth/policy.ts'
import { AppError } from '../../errors.ts'
import type { App } from '../../services.ts'
import type { Admitted, Refuse } from '../../tunnel/forward.ts'
import type { TunnelUser } from '../../tunnel/frames.ts'
import type { Gate } from '../../tunnel/listener.ts'
import type { Place } from '../../tunnel/places.ts'
import type { Connection, TunnelFacts } from '../../tunnel/switchboard.ts'
import { reachRefusal } from './access.ts'
import { ENTRY_PATH, Entries } from './entries.ts'
import { bySlug, emailOf } from './rows.ts'

const titles: Record<number, string> = { 401: 'Authentication required', 403: 'Not allowed', 404: 'Not found' }

/** A problem document (RFC 9457). Its page is sandboxed, so that it is nothing to the origin. */
const problem: Refuse = (status, detail) =>
  new Response(JSON.stringify({ type: 'about:blank', title: titles[status] ?? 'Tunnel', status, detail }), {
    status,
    headers: {
      'content-type': 'application/problem+json',
      'cache-control': 'no-store',
      'content-security-policy': "default-src 'none'; sandbox",
      'x-content-type-options': 'nosniff',
      ...(status === 401 && { 'www-authenticate': 'Bearer realm="tutti"' }),
    },
  })

/** Decides for each request to a service who is asking, and whether they may. */
export function createGate(app: App): Gate {
  const perTunnel = new Buckets(app.config.TUNNEL_RATE * 60, app.config.TUNNEL_RATE * 2)
  const guesses = new Buckets(app.config.RATE_LIMIT_ANONYMOUS, app.config.RATE_LIMIT_ANONYMOUS)
  const entries = new Entries(app)

  async function admit(request: Request, place: Place, client: string | null): Promise<Admitted | Response> {
    const isEntry = place.mode === 'host' && place.target.startsWith(`${ENTRY_PATH}?`)
    if (isEntry) return (await entries.enter(request, place)) ?? problem(401, 'This link was used, or is too old.')
    try {
      return await pass(request, place)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      // A wrong credential counts against its network; otherwise guessing would be free.
      const wait = error.code === 'unauthenticated' ? guesses.take(networkOf(client)) : 0
      if (wait > 0) return problem(429, `Too many attempts. Try again in ${wait} seconds.`)
      if (error.code === 'unauthenticated' && place.mode === 'host' && isNavigation(request))
        return Response.redirect(entries.signIn(request.url), 302)
      return problem(error.status, error.message)
    }
  }

  async function pass(request: Request, place: Place): Promise<Admitted> {
    const actor = await callerOf(request, place)
    const connection = app.tunnels.bySlug(place.slug)
    const isPublic = connection?.facts.access === 'public' && app.config.TUNNEL_PUBLIC === 'on'
    // Whether there is such a tunnel is nothing to strangers, and costs them no query.
    if (actor.kind === 'anonymous' && !isPublic) throw unauthenticated()
    const tunnel = connection?.facts ?? (await bySlug(app, place.slug))
    if (!tunnel || (!isPublic && !actor.memberships.has(tunnel.organizationId)))
      throw new AppError('not_found', 'There is no tunnel at this address.')
    refuse(reachRefusal(contextOf(app, actor), tunnel))
    if (!connection) throw new AppError('upstream_failed', 'The machine of this tunnel is not connected.')
    const wait = perTunnel.take(tunnel.id)
    if (wait > 0) throw new AppError('rate_limited', 'Too many requests through this tunnel.', { retryAfter: wait })
    return { connection, service: serviceOf(connection, place), user: await userOf(app, actor, tunnel) }
  }

  /** Programs send `Tutti-Authorization`; browsers have the cookie of the tunnel's host. */
  async function callerOf(request: Request, place: Place): Promise<Actor> {
    const header = request.headers.get('tutti-authorization')
    if (header === null) return (place.mode === 'host' && (await entries.callerOf(request, place))) || anonymous
    const token = /^Bearer +([\x21-\x7e]{1,4096})$/i.exec(header)?.[1]
    if (!token) throw unauthenticated()
    const actor = app.auth.recent(token) ?? (await app.auth.authenticate(token))
    if (actor.session?.impersonatorId)
      throw new AppError('forbidden', 'Machines cannot be reached while acting as somebody else.')
    if (actor.kind === 'tunnel') throw new AppError('forbidden', 'The credential of a tunnel opens no service.')
    if (!scopeHolds(actor.scopes, 'tunnels:write'))
      throw new AppError('forbidden', 'This credential lacks the scope tunnels:write.', { scope: 'tunnels:write' })
    return actor
  }

  return { admit, refuse: problem }
}

const unauthenticated = () =>
  new AppError('unauthenticated', 'Send a valid credential: `Tutti-Authorization: Bearer <token>`.')

const isNavigation = ({ method, headers }: Request): boolean =>
  method === 'GET' &&
  (headers.get('sec-fetch-mode') === 'navigate' || headers.get('sec-fetch-mode') === null) &&
  (headers.get('accept') ?? '').includes('text/html')

/** Without a name, the only service of the machine is meant. */
function serviceOf({ offer: { services } }: Connection, { service }: Place): string {
  const wanted = service === undefined && services.length === 1 ? services[0]?.name : service
  if (wanted === undefined || !services.some(({ name }) => name === wanted))
    throw new AppError('not_found', 'The machine offers no such service.')
  return wanted
}

async function userOf(app: App, actor: Actor, tunnel: TunnelFacts): Promise<TunnelUser | null> {
  const role = actor.memberships.get(tunnel.organizationId)
  if (!actor.userId || !role) return null
  return { id: actor.userId, email: await emailOf(app, actor.userId), role }
}
