import { eq, isNull, type SQL } from 'drizzle-orm'
import type { Ctx } from '../../action.ts'
import type { Actor } from '../../auth/actor.ts'
import { permissionOf, type Refusal, roleRefusal, ruleRefusal } from '../../auth/policy.ts'
import { rightsOf } from '../../auth/rights.ts'
import { anyOf } from '../../db/columns.ts'
import { and } from '../../db/conditions.ts'
import { notFound } from '../../errors.ts'
import { findByReference, idStartsWith } from '../../records/rows.ts'
import type { App } from '../../services.ts'
import type { TunnelFacts } from '../../tunnel/connected-tunnels.ts'
import type { TunnelUser } from '../../tunnel/frames.ts'
import { users } from '../users/table.ts'
import { actRefusal, reachRefusal, watchRefusal } from './access.ts'
import type { StoredOffer } from './actions/action-schema.ts'
import { tunnelActRule, tunnelWriteRule } from './rules.ts'
import type { OfferedService, Tunnel } from './schema.ts'
import { tunnelSessions, tunnels } from './table.ts'

const tunnelColumns = {
  id: tunnels.id,
  createdAt: tunnels.createdAt,
  updatedAt: tunnels.updatedAt,
  version: tunnels.version,
  organizationId: tunnels.organizationId,
  ownerId: tunnels.ownerId,
  name: tunnels.name,
  slug: tunnels.slug,
  access: tunnels.access,
  labels: tunnels.labels,
  paused: tunnels.paused,
  hostname: tunnels.hostname,
  os: tunnels.os,
  architecture: tunnels.architecture,
  clientVersion: tunnels.clientVersion,
  claimedAt: tunnels.claimedAt,
  lastSeenAt: tunnelSessions.lastSeenAt,
  leaseUntil: tunnelSessions.leaseUntil,
  online: tunnelSessions.online,
  services: tunnelSessions.services,
  offer: tunnelSessions.offer,
}

export interface TunnelRow extends Omit<Tunnel, 'status' | 'services' | 'mcpServers' | 'can'> {
  claimedAt: string | null
  leaseUntil: string | null
  online: boolean | null
  services: OfferedService[] | null
  offer: StoredOffer | null
}

/** SQL condition: tunnels of the caller's teams. `access` controls who may reach the machine, not who sees its name. */
export const visibleTo = (actor: Actor): SQL =>
  and(isNull(tunnels.deletedAt), anyOf(tunnels.organizationId, rightsOf(actor).organizations))

export const selectTunnels = ({ db }: Pick<Ctx, 'db'>) =>
  db.select(tunnelColumns).from(tunnels).leftJoin(tunnelSessions, eq(tunnelSessions.tunnelId, tunnels.id)).$dynamic()

export async function findTunnel(ctx: Ctx, ref: string): Promise<TunnelRow> {
  const among = (where: SQL) => selectTunnels(ctx).where(and(where, visibleTo(ctx.actor)))
  const found = await findByReference<TunnelRow>(ref, {
    id: (id) => among(eq(tunnels.id, id)),
    name: (name) => among(eq(tunnels.slug, name)),
    prefix: (prefix) => among(idStartsWith(tunnels.id, prefix)).limit(2),
  })
  if (!found) throw notFound('tunnel', ref)
  return found
}

/** Returns why the caller may not change a tunnel: only its owner and administrators of its team may. */
export const changeRefusal = (ctx: Ctx, tunnel: Pick<TunnelRow, 'ownerId' | 'organizationId'>): Refusal | undefined =>
  ruleRefusal(ctx.actor, tunnelWriteRule, 'Changing a tunnel', ctx.app.clock) ??
  (tunnel.ownerId === ctx.actor.userId
    ? undefined
    : roleRefusal(ctx.actor, tunnel.organizationId, 'admin', 'Changing a tunnel of someone else'))

/** Only the owner may let a machine claim their tunnel: it then serves in the owner's name. */
export const claimRefusal = (ctx: Ctx, tunnel: Pick<TunnelRow, 'ownerId'>): Refusal | undefined =>
  ruleRefusal(ctx.actor, tunnelActRule, 'Claiming a tunnel', ctx.app.clock) ??
  (tunnel.ownerId === ctx.actor.userId
    ? undefined
    : { code: 'forbidden', detail: 'Only its owner can connect a machine to this tunnel.' })

export function stateOf(tunnel: Pick<TunnelRow, 'claimedAt' | 'leaseUntil' | 'online'>, now: string): Tunnel['status'] {
  if (tunnel.claimedAt === null) return 'pending'
  if (tunnel.leaseUntil === null) return 'connecting'
  return tunnel.online && tunnel.leaseUntil > now ? 'online' : 'offline'
}

export function toTunnel(ctx: Ctx, tunnel: TunnelRow): Tunnel {
  const { claimedAt, leaseUntil, online, services, offer, ...rest } = tunnel
  const change = permissionOf(changeRefusal(ctx, tunnel))
  return {
    ...rest,
    status: stateOf({ claimedAt, leaseUntil, online }, ctx.now),
    services: (services ?? []).map((service) => ({ ...service, url: addressOf(ctx.app, rest.slug, service.name) })),
    mcpServers: (offer?.mcp ?? []).map((server) => ({ ...server, url: mcpAddressOf(ctx.app, rest.slug, server.name) })),
    can: {
      update: change,
      remove: change,
      claim: permissionOf(claimRefusal(ctx, tunnel)),
      reach: permissionOf(reachRefusal(ctx, tunnel)),
      act: permissionOf(actRefusal(ctx, tunnel)),
      watch: permissionOf(watchRefusal(ctx, tunnel)),
    },
  }
}

/** Returns the address of a service; null if this server has no listener for tunnels. */
export function addressOf({ tunnels: switchboard }: App, slug: string, service: string): string | null {
  return switchboard.addressOf(slug, service) ?? null
}

const mcpAddressOf = ({ url }: Pick<App, 'url'>, slug: string, server: string): string =>
  `${url}/mcp/tunnels/${slug}/${server}`

export const tunnelEvent = <D extends object>(
  tunnel: Pick<TunnelRow, 'id' | 'organizationId' | 'ownerId' | 'name' | 'slug'>,
  data?: D,
) => ({
  subjectId: tunnel.id,
  organizationId: tunnel.organizationId,
  userId: tunnel.ownerId,
  data: Object.assign({ name: tunnel.name, slug: tunnel.slug }, data),
})

/** Finds the access rules of the tunnel with this slug. */
export async function findTunnelBySlug({ db }: Pick<Ctx, 'db'>, slug: string): Promise<TunnelFacts | undefined> {
  const [found] = await db
    .select()
    .from(tunnels)
    .where(and(eq(tunnels.slug, slug), isNull(tunnels.deletedAt)))
  return found
}

/** Returns the caller as the machine sees them. Null for people outside the team. */
export async function userOf(
  on: Pick<Ctx, 'db'>,
  actor: Actor,
  tunnel: { organizationId: string },
): Promise<TunnelUser | null> {
  const role = actor.memberships.get(tunnel.organizationId)
  if (!actor.userId || !role) return null
  return { id: actor.userId, email: await cachedEmailOf(on, actor.userId), role }
}

const emailCache = new Map<string, { email: string; at: number }>()
/** Services receive the address with every request, so it is cached for a minute. */
async function cachedEmailOf({ db }: Pick<Ctx, 'db'>, userId: string): Promise<string> {
  const known = emailCache.get(userId)
  if (known && performance.now() - known.at < 60_000) return known.email
  const [user] = await db.select({ email: users.email }).from(users).where(eq(users.id, userId))
  if (emailCache.size > 10_000) emailCache.clear()
  emailCache.set(userId, { email: user?.email ?? '', at: performance.now() })
  return user?.email ?? ''
}
