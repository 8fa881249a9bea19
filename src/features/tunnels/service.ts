import { eq, gte, sql } from 'drizzle-orm'
import { checkVersion, read, write } from '../../action.ts'
import { currentOrganization } from '../../auth/actor.ts'
import { permissionOf, refusalOf, refuse } from '../../auth/policy.ts'
import { hasAll } from '../../db/columns.ts'
import { and } from '../../db/conditions.ts'
import { daysAfter } from '../../records/days.ts'
import { keyset } from '../../records/page.ts'
import { change } from './changing.ts'
import { tunnelDeleted } from './events.ts'
import { about, changeRefusal, find, select, shown, stateOf, visibleTo } from './rows.ts'
import { acting, changing, reading } from './rules.ts'
import type { Tunnel, TunnelPage, TunnelPatch, TunnelQuery, TunnelStatus } from './schema.ts'
import { tunnelHours, tunnelSessions, tunnels } from './table.ts'

const orders = { name: tunnels.name, updatedAt: tunnels.updatedAt, createdAt: tunnels.createdAt }

export const list = read('tunnels.list', reading, async (ctx, query: TunnelQuery): Promise<TunnelPage> => {
  const page = keyset(orders, tunnels.id, query, { sort: 'name', order: 'asc' })
  const filters = and(
    visibleTo(ctx.actor),
    eq(tunnels.organizationId, currentOrganization(ctx.actor)),
    hasAll(tunnels.labels, query.label),
  )
  const rows = await select(ctx)
    .where(page.where(filters))
    .orderBy(...page.orderBy)
    .limit(page.limit)
  const total = query.total ? await ctx.db.$count(tunnels, filters) : undefined
  const register = permissionOf(refusalOf(ctx.actor, acting, 'Registering a tunnel', ctx.app.clock))
  return {
    ...page.page(
      rows.map((row) => shown(ctx, row)),
      total,
    ),
    can: { register },
  }
})

export const get = read(
  'tunnels.get',
  reading,
  async (ctx, { ref }: { ref: string }): Promise<Tunnel> => shown(ctx, await find(ctx, ref)),
)

export const update = write(
  'tunnels.update',
  changing,
  async (ctx, { ref, ...patch }: TunnelPatch & { ref: string }): Promise<Tunnel> => {
    const before = await find(ctx, ref)
    refuse(changeRefusal(ctx, before))
    checkVersion(ctx, before)
    const after = await change(ctx, before, patch)
    return shown(ctx, after)
  },
  { versioned: true },
)

/** Deletes a tunnel. Its credential stops working, so its machine is disconnected at once. */
export const remove = write(
  'tunnels.remove',
  changing,
  async (ctx, { ref }: { ref: string }): Promise<{ id: string; deleted: true }> => {
    const tunnel = await find(ctx, ref)
    refuse(changeRefusal(ctx, tunnel))
    checkVersion(ctx, tunnel)
    await ctx.db.update(tunnels).set({ deletedAt: ctx.now, claimHash: null }).where(eq(tunnels.id, tunnel.id))
    ctx.emit(tunnelDeleted, about(tunnel, { userId: tunnel.ownerId }))
    return { id: tunnel.id, deleted: true }
  },
  { destructive: true, versioned: true },
)

export const status = read('tunnels.status', reading, async (ctx, { ref }: { ref: string }): Promise<TunnelStatus> => {
  const tunnel = await find(ctx, ref)
  const [session] = await ctx.db.select().from(tunnelSessions).where(eq(tunnelSessions.tunnelId, tunnel.id))
  const dayAgo = daysAfter(ctx.now, -1)
  const [traffic] = await ctx.db
    .select({
      requests: sql<number>`coalesce(sum(${tunnelHours.requests}), 0)::float8`,
      bytes: sql<number>`coalesce(sum(${tunnelHours.bytes}), 0)::float8`,
    })
    .from(tunnelHours)
    .where(and(eq(tunnelHours.tunnelId, tunnel.id), gte(tunnelHours.hour, dayAgo)))
  const here = ctx.app.tunnels.of(tunnel.id)
  return {
    id: tunnel.id,
    status: stateOf(tunnel, ctx.now),
    since: session?.since ?? null,
    generation: session?.generation ?? 0,
    instance: session?.online ? session.instanceId : null,
    rttMs: session?.rttMs == null ? null : Math.round(session.rttMs),
    streams: here?.session.streams ?? null,
    services: session?.services ?? [],
    requests: (traffic?.requests ?? 0) + (here?.traffic.requests ?? 0),
    bytes: (traffic?.bytes ?? 0) + (here?.traffic.bytes ?? 0),
  }
})
